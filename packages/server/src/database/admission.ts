import { unavailable } from '../errors/api-error.ts';

/**
 * Shares of `bytesMax`: the limit of a tenant that is alone, the limit of all tenants together (higher for small tenants), and the size up
 * to which a tenant counts as small.
 */
const SHARE_OF_ONLY_TENANT = 0.75;
const SHARE_OF_ALL_TENANTS = 0.9;
const SHARE_OF_SMALL_TENANT = 0.05;
/**
 * Shares for bodies of unknown length: the limit of all such bodies together, and a lower share up to which any such body may start. The
 * part between the two shares is for the growth of active bodies. Above the lower share, a tenant may start a body only if it has no other
 * such body, or if its bodies stay within an equal part of the lower share.
 */
const SHARE_OF_UNKNOWN_LENGTH = 0.5;
const SHARE_OF_UNKNOWN_LENGTH_AT_START = 0.25;

/**
 * Limits the bytes in memory for one purpose (reading, queue or responses), and shares them fairly between tenants. A tenant may use three
 * quarters while it is alone. When other tenants have bytes too, it may use an equal share of nine tenths, or more while at most half is
 * used. The last tenth is for tenants with few bytes, so that other tenants cannot block them. Beyond the limits: 503 with Retry-After.
 */
export class Admission {
  readonly bytesMax: number;
  #usedBytes = 0;
  #growingBytes = 0;
  readonly #usedBy = new Map<string, number>();
  readonly #growingBy = new Map<string, number>();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** The bytes admitted now. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /**
   * Admits bytes of a tenant. For a tenant without bytes, any number is admitted while at most nine tenths are used. Without this rule, a
   * body above the limit could never be accepted.
   * @throws ApiError `unavailable` (503) beyond the limits.
   */
  enter(tenantId: string, bytes: number): void {
    const ownBytes = this.#usedBy.get(tenantId) ?? 0;
    const isRejected = ownBytes === 0 ? this.#isFullForNewTenant(bytes) : this.#isBeyondShare(ownBytes, bytes);
    if (isRejected) throw unavailable('the limit of bytes in memory is reached');
    this.#usedBytes += bytes;
    add(this.#usedBy, tenantId, bytes);
  }

  /** A tenant without bytes is rejected only if more than nine tenths are used and its bytes do not fit into the remaining ones. */
  #isFullForNewTenant(bytes: number): boolean {
    return this.#usedBytes + bytes > this.bytesMax && this.#usedBytes > this.bytesMax * SHARE_OF_ALL_TENANTS;
  }

  /**
   * Whether these bytes are too many for a tenant that has bytes already. True if all tenants together would exceed nine tenths (or the
   * whole, if this tenant remains small). Also true if they would exceed half and this tenant would exceed its share.
   */
  #isBeyondShare(ownBytes: number, bytes: number): boolean {
    const tenants = this.#usedBy.size;
    const share = tenants === 1 ? this.bytesMax * SHARE_OF_ONLY_TENANT : (this.bytesMax * SHARE_OF_ALL_TENANTS) / tenants;
    const limit =
      ownBytes + bytes <= this.bytesMax * SHARE_OF_SMALL_TENANT ? this.bytesMax : this.bytesMax * SHARE_OF_ALL_TENANTS;
    if (this.#usedBytes + bytes > limit) return true;
    return ownBytes + bytes > share && this.#usedBytes + bytes > this.bytesMax / 2;
  }

  /**
   * Admits bytes for the start or the growth of a body of unknown length. Starts of a tenant's further bodies are rejected earlier than
   * growth, so that its active bodies are finished first.
   * @param admittedBytes the bytes that are already admitted for the body; 0 at its start.
   * @throws ApiError `unavailable` (503) beyond the limits.
   */
  enterGrowing(tenantId: string, bytes: number, admittedBytes: number): void {
    const isFull = this.#growingBytes > 0 && this.#growingBytes + bytes > this.bytesMax * SHARE_OF_UNKNOWN_LENGTH;
    if (
      isFull ||
      (admittedBytes === 0 ? this.#mustWaitToStart(tenantId, bytes) : this.#isGrowthBeyondShare(tenantId, bytes, admittedBytes))
    )
      throw unavailable('the memory for request bodies of unknown length is full');
    this.enter(tenantId, bytes);
    this.#growingBytes += bytes;
    add(this.#growingBy, tenantId, bytes);
  }

  /**
   * Whether a tenant must finish bodies of unknown length before it starts another one. Without this rule, one tenant could block new
   * bodies of other tenants with bodies that it never finishes.
   */
  #mustWaitToStart(tenantId: string, bytes: number): boolean {
    const ownBytes = this.#growingBy.get(tenantId) ?? 0;
    const limit = this.bytesMax * SHARE_OF_UNKNOWN_LENGTH_AT_START;
    return ownBytes > 0 && this.#growingBytes + bytes > limit && ownBytes + bytes > limit / this.#growingBy.size;
  }

  /**
   * Whether a tenant's bodies of unknown length would use over three quarters of the share for such bodies. A single body may use all of
   * it.
   */
  #isGrowthBeyondShare(tenantId: string, bytes: number, admittedBytes: number): boolean {
    const ownBytes = this.#growingBy.get(tenantId) ?? 0;
    return ownBytes > admittedBytes && ownBytes + bytes > this.bytesMax * SHARE_OF_UNKNOWN_LENGTH * SHARE_OF_ONLY_TENANT;
  }

  /** Releases bytes that `enterGrowing` admitted. */
  leaveGrowing(tenantId: string, bytes: number): void {
    this.leave(tenantId, bytes);
    this.#growingBytes -= bytes;
    add(this.#growingBy, tenantId, -bytes);
  }

  /** Releases bytes that `enter` admitted. */
  leave(tenantId: string, bytes: number): void {
    this.#usedBytes -= bytes;
    add(this.#usedBy, tenantId, -bytes);
  }
}

/** Adds bytes, which may be negative, to the bytes of a tenant. A tenant without bytes has no entry. */
function add(bytesBy: Map<string, number>, tenantId: string, bytes: number): void {
  const sum = (bytesBy.get(tenantId) ?? 0) + bytes;
  if (sum > 0) bytesBy.set(tenantId, sum);
  else bytesBy.delete(tenantId);
}
