import { unavailable } from '../errors/api-error.ts';

/** Of the room: what one tenant may fill when it is alone, what all may fill together, and what counts as holding little. */
const ALONE = 0.75;
const TOGETHER = 0.9;
const LITTLE = 0.05;
/** What bodies of unknown length may fill together, and up to where a new one may start, so that those under way have room to grow. */
const GROWING = 0.5;
const GROWING_START = 0.25;

/**
 * Bounds the bytes that wait or are being read, and shares them fairly between tenants: one tenant may fill three quarters
 * when it is alone, and its equal share when others wait too. The last tenth is for those who hold little, so that tenants who
 * flood never shut the others out. Beyond that: 503 with Retry-After, and memory stays bounded.
 */
export class Admission {
  readonly bytesMax: number;
  #used = 0;
  #growing = 0;
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
    const held = this.#usedBy.get(tenantId) ?? 0;
    const refused = held === 0 ? this.#isFullForNewcomers(bytes) : this.#isBeyondShare(held, bytes);
    if (refused) throw unavailable('no room for more bytes');
    this.#used += bytes;
    this.#usedBy.set(tenantId, held + bytes);
  }

  /** Who holds nothing gets in until the last tenth is full as well. */
  #isFullForNewcomers(bytes: number): boolean {
    return this.#used + bytes > this.bytesMax && this.#used > this.bytesMax * TOGETHER;
  }

  /** Who holds something may fill what is for all, or the last tenth while it is little; and no more than its share once half is taken. */
  #isBeyondShare(held: number, bytes: number): boolean {
    const tenants = this.#usedBy.size;
    const share = tenants === 1 ? this.bytesMax * ALONE : (this.bytesMax * TOGETHER) / tenants;
    const room = held + bytes <= this.bytesMax * LITTLE ? this.bytesMax : this.bytesMax * TOGETHER;
    if (this.#used + bytes > room) return true;
    return held + bytes > share && this.#used + bytes > this.bytesMax / 2;
  }

  /**
   * Takes in bytes of something whose full size is unknown, or throws 503: the start of it, or its growth. Starts are refused earlier than
   * growth: what is under way is finished before more is begun.
   */
  enterGrowing(tenantId: string, bytes: number, stage: 'start' | 'growth'): void {
    const part = stage === 'start' ? GROWING_START : GROWING;
    if (this.#growing > 0 && this.#growing + bytes > this.bytesMax * part)
      throw unavailable('no room for more of unknown length');
    this.enter(tenantId, bytes);
    this.#growing += bytes;
  }

  /** Lets go of bytes that `enterGrowing` took in. */
  leaveGrowing(tenantId: string, bytes: number): void {
    this.leave(tenantId, bytes);
    this.#growing -= bytes;
  }

  /** Lets the bytes go. */
  leave(tenantId: string, bytes: number): void {
    const own = (this.#usedBy.get(tenantId) ?? 0) - bytes;
    this.#used -= bytes;
    if (own > 0) this.#usedBy.set(tenantId, own);
    else this.#usedBy.delete(tenantId);
  }
}
