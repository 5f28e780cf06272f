/** The clocks of one machine, read at the same time. */
export interface ClockReading {
  /** The system clock, which can be set: milliseconds since 1970. */
  wallMs: number;
  /** A monotonic clock that also runs while the machine is suspended. Its start is arbitrary. */
  steadyMs: number;
}

/** The time of the database's clock, with the clocks of this machine before and after the query. */
export interface DatabaseReading {
  before: ClockReading;
  after: ClockReading;
  /** Milliseconds since 1970, as in `wallMs`. */
  databaseMs: number;
}

/**
 * Why the clocks cannot be used.
 * `jumped`: the system clock moved relative to the monotonic clock. `apart`: the database's clock differs from the system clock.
 * `settling`: the clocks agree again, but for less than CLOCK_SETTLING_MS.
 */
export interface ClockFault {
  kind: 'jumped' | 'apart' | 'settling';
  /**
   * `jumped`: how far the system clock moved forward, in milliseconds. `apart`: how far the database's clock is ahead of the system clock.
   * Negative if the system clock moved back, or the database's clock is behind. 0 for `settling`.
   */
  aheadMs: number;
  /** In how many milliseconds the fault ends if nothing changes; null until the database's clock agrees with the system clock. */
  clearsInMs: number | null;
}

/** The largest normal difference between two clocks: from drift, NTP corrections and delays. */
export const CLOCK_DIFFERENCE_MAX_MS = 5_000;

/** How long the clocks must agree after a fault. This does not apply after an accepted jump: the clocks have then agreed for longer. */
export const CLOCK_SETTLING_MS = 5_000;

/**
 * A jump is accepted when the database's clock has agreed with the system clock for a time equal to the size of the jump, within these
 * limits.
 */
export const JUMP_ACCEPTED_MS_MIN = 10_000;
export const JUMP_ACCEPTED_MS_MAX = 600_000;

/** The maximum drift that the guard follows, as a fraction of the elapsed time. Linux slews a clock by at most 0.0005. */
const DRIFT_MAX = 0.001;

/** If the system clock moves by more than this after a jump, the guard treats the movement as a new jump. */
const JUMP_CHANGE_MAX_MS = 1_000;

interface Jump {
  /** The system clock minus the monotonic clock since the jump. */
  offsetMs: number;
  /** When the database's clock started to agree with the system clock, by the monotonic clock. */
  agreedSinceMs: number | undefined;
}

/**
 * Decides whether the clocks can be used to record times. The caller passes the readings.
 *
 * The guard tracks the difference between the system clock and the monotonic clock. There is no fault while this difference is stable and
 * the database's clock agrees with the system clock. A fault ends only when both conditions have held for CLOCK_SETTLING_MS.
 */
export class ClockGuard {
  /** The accepted difference between the system clock and the monotonic clock. */
  #offsetMs: number;
  #observedAtMs: number;
  /** Whether the clocks have ever agreed while no jump was pending, or have agreed for long enough that a jump was accepted. */
  #isConfirmed = false;
  #jump: Jump | undefined;
  /** The database's clock minus the monotonic clock, when the clocks last agreed without a pending jump; undefined before that. */
  #databaseOffsetMs: number | undefined;
  /** How far the database's clock was ahead of the system clock at the last conclusive reading; 0 if it agreed. */
  #apartMs = 0;
  /** When the clocks started to agree again after a fault, by the monotonic clock; undefined if the clocks are not settling. */
  #settlingSinceMs: number | undefined;

  /** Accepts the system clock of the first reading: an earlier jump cannot be detected. */
  constructor({ wallMs, steadyMs }: ClockReading) {
    this.#offsetMs = wallMs - steadyMs;
    this.#observedAtMs = steadyMs;
  }

  /** Whether the system clock in this reading deviates from the accepted time by more than CLOCK_DIFFERENCE_MAX_MS. Changes nothing. */
  hasJumped({ wallMs, steadyMs }: ClockReading): boolean {
    return Math.abs(wallMs - steadyMs - this.#offsetMs) > CLOCK_DIFFERENCE_MAX_MS;
  }

  /** Processes a reading of the machine's clocks. Returns the current fault, if any. */
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
    } else if (this.#jump === undefined || Math.abs(offsetMs - this.#jump.offsetMs) > JUMP_CHANGE_MAX_MS) {
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
    // The reading of a slow query can show that the clocks differ, but not that they agree.
    else if (latestMs - earliestMs <= CLOCK_DIFFERENCE_MAX_MS) this.#agree(after, databaseMs - before.steadyMs);
    return this.#fault(after.steadyMs);
  }

  /**
   * The time of the database's clock when the clocks last agreed without a pending jump, advanced by the monotonic clock: milliseconds
   * since 1970. Undefined before that.
   */
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

  /**
   * How long the clocks must agree until a jump is accepted. The minimum is enough if they never agreed before the jump: then the system
   * clock was wrong, and the jump corrects it.
   */
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
