/** The clocks of one machine, read at the same time. */
export interface ClockReading {
  /** The system clock, which can be set. */
  wallMs: number;
  /** A monotonic clock that also runs while the machine is suspended. Its start is arbitrary. */
  steadyMs: number;
}

/** The database's clock, with our clocks before and after the query. */
export interface DatabaseReading {
  before: ClockReading;
  after: ClockReading;
  databaseMs: number;
}

/**
 * Why the clocks cannot be used.
 * `jumped`: the system clock moved against the monotonic clock. `apart`: the database's clock differs from ours.
 * `settling`: the clocks agree again, but not for long enough.
 */
export interface ClockFault {
  kind: 'jumped' | 'apart' | 'settling';
  /** How far the clock is ahead, in milliseconds; negative if it is behind. 0 while settling. */
  aheadMs: number;
  /** When the fault clears if nothing changes, in milliseconds from now; null if a clock must be corrected first. */
  clearsInMs: number | null;
}

/** The largest difference that is normal: drift, NTP corrections, delays. */
export const CLOCK_DIFFERENCE_MAX_MS = 5_000;

/** After a fault the clocks must agree for this long. An accepted jump needs no more time: the clocks have agreed for longer already. */
export const CLOCK_SETTLING_MS = 5_000;

/** A jump that the database's clock shares is accepted after as much time as its size, within these limits. */
export const JUMP_ACCEPTED_MS_MIN = 10_000;
export const JUMP_ACCEPTED_MS_MAX = 600_000;

/** The largest rate at which a clock is corrected without being set. Linux slews by at most 500 millionths. */
const DRIFT_MAX = 0.001;

/** A larger movement against the monotonic clock during a jump is a new jump. */
const SAME_JUMP_MS = 1_000;

interface Jump {
  /** The system clock minus the monotonic clock since the jump. */
  offsetMs: number;
  /** When the database's clock started to agree with the system clock, by the monotonic clock. */
  agreedSinceMs: number | undefined;
}

/**
 * Decides whether the clocks can be used for recording times. The caller passes the readings.
 *
 * It tracks the difference between the system clock and the monotonic clock. There is no fault while that difference is stable and the
 * database agrees.
 */
export class ClockGuard {
  /** The accepted difference between the system clock and the monotonic clock. */
  #offsetMs: number;
  #observedAtMs: number;
  /** Whether the database has ever agreed with the accepted difference. */
  #isConfirmed = false;
  #jump: Jump | undefined;
  /** The database's clock minus the monotonic clock when the clocks last agreed without a pending jump; undefined before. */
  #databaseOffsetMs: number | undefined;
  /** How far the database's clock was ahead at its last conclusive reading; 0 if it agreed. */
  #apartMs = 0;
  /** The start of the period without faults after a fault. */
  #settlingSinceMs: number | undefined;

  /** Accepts the system clock of the first reading: an earlier jump cannot be detected. */
  constructor({ wallMs, steadyMs }: ClockReading) {
    this.#offsetMs = wallMs - steadyMs;
    this.#observedAtMs = steadyMs;
  }

  /** Processes a reading of our own clocks. Returns the current fault, if any. */
  observe({ wallMs, steadyMs }: ClockReading): ClockFault | undefined {
    const offsetMs = wallMs - steadyMs;
    const deviationMs = offsetMs - this.#offsetMs;
    const driftMaxMs = Math.max(0, steadyMs - this.#observedAtMs) * DRIFT_MAX;
    this.#observedAtMs = Math.max(this.#observedAtMs, steadyMs);
    if (Math.abs(deviationMs) <= CLOCK_DIFFERENCE_MAX_MS) {
      this.#offsetMs += Math.max(-driftMaxMs, Math.min(driftMaxMs, deviationMs));
      if (this.#jump !== undefined) {
        this.#jump = undefined;
        this.#settlingSinceMs = steadyMs;
      }
    } else if (this.#jump === undefined || Math.abs(offsetMs - this.#jump.offsetMs) > SAME_JUMP_MS) {
      this.#jump = { offsetMs, agreedSinceMs: undefined };
    }
    return this.#fault(steadyMs);
  }

  /** Processes a reading of the database's clock. Returns the current fault, if any. */
  compare({ before, after, databaseMs }: DatabaseReading): ClockFault | undefined {
    this.observe(after);
    const earliestMs = Math.min(before.wallMs, after.wallMs);
    const latestMs = Math.max(before.wallMs, after.wallMs);
    const apartMs = databaseMs > latestMs ? databaseMs - latestMs : Math.min(0, databaseMs - earliestMs);
    if (Math.abs(apartMs) > CLOCK_DIFFERENCE_MAX_MS) this.#disagree(apartMs);
    // A slow query can disprove agreement but not prove it.
    else if (latestMs - earliestMs <= CLOCK_DIFFERENCE_MAX_MS) this.#agree(after, databaseMs - before.steadyMs);
    return this.#fault(after.steadyMs);
  }

  /** The last accepted time of the database, advanced by the monotonic clock; undefined before the first agreement. */
  trustedDatabaseMs(steadyMs: number): number | undefined {
    return this.#databaseOffsetMs === undefined ? undefined : this.#databaseOffsetMs + steadyMs;
  }

  #disagree(apartMs: number): void {
    this.#apartMs = apartMs;
    if (this.#jump !== undefined) this.#jump.agreedSinceMs = undefined;
  }

  #agree({ steadyMs }: ClockReading, databaseOffsetMs: number): void {
    if (this.#apartMs !== 0) this.#settlingSinceMs = steadyMs;
    this.#apartMs = 0;
    if (this.#jump === undefined) {
      this.#isConfirmed = true;
      this.#databaseOffsetMs = databaseOffsetMs;
      return;
    }
    this.#jump.agreedSinceMs ??= steadyMs;
    if (steadyMs - this.#jump.agreedSinceMs < this.#acceptedAfterMs(this.#jump)) return;
    this.#offsetMs = this.#jump.offsetMs;
    this.#databaseOffsetMs = databaseOffsetMs;
    this.#isConfirmed = true;
    this.#jump = undefined;
    this.#settlingSinceMs = undefined;
  }

  /** If the database never agreed with the earlier clock, that clock was wrong and the jump is its correction. */
  #acceptedAfterMs({ offsetMs }: Jump): number {
    if (!this.#isConfirmed) return JUMP_ACCEPTED_MS_MIN;
    const sizeMs = Math.abs(offsetMs - this.#offsetMs);
    return Math.min(JUMP_ACCEPTED_MS_MAX, Math.max(JUMP_ACCEPTED_MS_MIN, sizeMs));
  }

  #fault(steadyMs: number): ClockFault | undefined {
    if (this.#jump !== undefined) {
      const { offsetMs, agreedSinceMs } = this.#jump;
      const clearsInMs =
        agreedSinceMs === undefined ? null : Math.max(0, agreedSinceMs + this.#acceptedAfterMs(this.#jump) - steadyMs);
      return { kind: 'jumped', aheadMs: offsetMs - this.#offsetMs, clearsInMs };
    }
    if (this.#apartMs !== 0) return { kind: 'apart', aheadMs: this.#apartMs, clearsInMs: null };
    if (this.#settlingSinceMs === undefined) return undefined;
    const clearsInMs = this.#settlingSinceMs + CLOCK_SETTLING_MS - steadyMs;
    if (clearsInMs > 0) return { kind: 'settling', aheadMs: 0, clearsInMs };
    this.#settlingSinceMs = undefined;
    return undefined;
  }
}
