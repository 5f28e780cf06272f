import { unavailable } from '../api-error.ts';

/** Of the room: what one tenant may fill when it is alone, what all may fill together, and what counts as holding little. */
const ALONE = 0.75;
const TOGETHER = 0.9;
const LITTLE = 0.05;

/**
 * Bounds the bytes that wait or are being read, and shares them fairly between tenants: one tenant may fill three quarters
 * when it is alone, and its equal share when others wait too. The last tenth is for those who hold little, so that tenants who
 * flood never shut the others out. Beyond that: 503 with Retry-After, and memory stays bounded.
 */
export class Admission {
  readonly bytesMax: number;
  #used = 0;
  readonly #usedBy = new Map<string, number>();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Bytes admitted now. */
  get used(): number {
    return this.#used;
  }

  /** Takes the bytes in, or throws 503. An empty queue takes anything: a single body larger than the queue must not starve. */
  enter(tenantId: string, bytes: number): void {
    const own = this.#usedBy.get(tenantId) ?? 0;
    const tenants = this.#usedBy.size + (own === 0 ? 1 : 0);
    const share = tenants === 1 ? this.bytesMax * ALONE : (this.bytesMax * TOGETHER) / tenants;
    const room = own + bytes <= this.bytesMax * LITTLE ? this.bytesMax : this.bytesMax * TOGETHER;
    const unfair = own + bytes > share && this.#used + bytes > this.bytesMax / 2;
    if (own > 0 && (this.#used + bytes > room || unfair)) throw unavailable('no room for more bytes');
    if (own === 0 && this.#used + bytes > this.bytesMax && this.#used > this.bytesMax * TOGETHER)
      throw unavailable('no room for more bytes');
    this.#used += bytes;
    this.#usedBy.set(tenantId, own + bytes);
  }

  /** Lets the bytes go. */
  leave(tenantId: string, bytes: number): void {
    const own = (this.#usedBy.get(tenantId) ?? 0) - bytes;
    this.#used -= bytes;
    if (own > 0) this.#usedBy.set(tenantId, own);
    else this.#usedBy.delete(tenantId);
  }
}
