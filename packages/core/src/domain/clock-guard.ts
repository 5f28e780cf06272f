/** The clocks of one machine, read together. */
export interface ClockReading {
  /** The time of day, which can be set. */
  wallMs: number;
  /** A clock that nobody sets and that also runs while the machine is suspended. Where it starts does not matter. */
  steadyMs: number;
}

/** The database's clock, which was read at some moment between two readings of ours. */
export interface DatabaseReading {
  before: ClockReading;
  after: ClockReading;
  databaseMs: number;
}

/**
 * Why no moment can be taken from the clocks.
 * `jumped`: the time of day moved against the steady clock. `apart`: the database's clock differs from ours.
 * `settling`: the clocks agree again, but not for long enough.
 */
export interface ClockFault {
  kind: 'jumped' | 'apart' | 'settling';
  /** How far the clock is ahead, in milliseconds; negative when it is behind. 0 while settling. */
  aheadMs: number;
  /** When it clears by itself if nothing changes, in milliseconds from now; null when only a clock that is put right clears it. */
  clearsInMs: number | null;
}

/** A difference up to this is ordinary: drift, NTP corrections, delays. */
export const CLOCK_DIFFERENCE_MAX_MS = 5_000;

/** After a fault the clocks must agree for this long. */
export const CLOCK_SETTLING_MS = 5_000;

/** A jump that the database's clock shares is accepted after it has stood for as long as it is large, within these bounds. */
export const JUMP_ACCEPTED_MS_MIN = 10_000;
export const JUMP_ACCEPTED_MS_MAX = 600_000;

/** How fast a clock may be corrected without being set. Linux slews by at most 500 millionths. */
const DRIFT_MAX = 0.001;

/** A time of day that moves by more than this against the steady clock while a jump is under way has jumped anew. */
const SAME_JUMP_MS = 1_000;

interface Jump {
  /** The time of day minus the steady clock since the jump. */
  offsetMs: number;
  /** Since when the database's clock agrees with it, by the steady clock. */
  agreedSinceMs: number | undefined;
}

/**
 * Decides whether moments may be taken from the clocks. Readings go in, a fault or nothing comes out; it reads no clock itself.
 *
 * It keeps the difference between the time of day and the steady clock. While that difference holds and the database agrees, all is well.
 */
export class ClockGuard {
  /** The time of day minus the steady clock, as it was last believed. */
  #offsetMs: number;
  #observedAtMs: number;
  /** Whether the database has ever agreed with the believed difference. */
  #isConfirmed = false;
  #jump: Jump | undefined;
  /** The database's clock minus the steady clock when it last agreed; undefined before it has. */
  #databaseOffsetMs: number | undefined;
  /** How far the database's clock was ahead of ours when it was last read; 0 when it agreed. */
  #apartMs = 0;
  /** Since when there is no fault after there was one. */
  #settlingSinceMs: number | undefined;

  /** Believes the time of day of the first reading: an earlier jump cannot be noticed. */
  constructor({ wallMs, steadyMs }: ClockReading) {
    this.#offsetMs = wallMs - steadyMs;
    this.#observedAtMs = steadyMs;
  }

  /** Takes in a reading of our own clocks. Returns what is wrong now, if anything. */
  observe({ wallMs, steadyMs }: ClockReading): ClockFault | undefined {
    const offsetMs = wallMs - steadyMs;
    const strayMs = offsetMs - this.#offsetMs;
    const followMs = Math.max(0, steadyMs - this.#observedAtMs) * DRIFT_MAX;
    this.#observedAtMs = Math.max(this.#observedAtMs, steadyMs);
    if (Math.abs(strayMs) <= CLOCK_DIFFERENCE_MAX_MS) {
      this.#offsetMs += Math.max(-followMs, Math.min(followMs, strayMs));
      if (this.#jump !== undefined) {
        this.#jump = undefined;
        this.#settlingSinceMs = steadyMs;
      }
    } else if (this.#jump === undefined || Math.abs(offsetMs - this.#jump.offsetMs) > SAME_JUMP_MS) {
      this.#jump = { offsetMs, agreedSinceMs: undefined };
    }
    return this.#fault(steadyMs);
  }

  /** Takes in a reading of the database's clock. Returns what is wrong now, if anything. */
  compare({ before, after, databaseMs }: DatabaseReading): ClockFault | undefined {
    this.observe(after);
    const earliestMs = Math.min(before.wallMs, after.wallMs);
    const latestMs = Math.max(before.wallMs, after.wallMs);
    const apartMs = databaseMs > latestMs ? databaseMs - latestMs : Math.min(0, databaseMs - earliestMs);
    if (Math.abs(apartMs) > CLOCK_DIFFERENCE_MAX_MS) this.#disagree(apartMs);
    // An answer that took long refutes agreement but cannot show it.
    else if (latestMs - earliestMs <= CLOCK_DIFFERENCE_MAX_MS) this.#agree(after, databaseMs - before.steadyMs);
    return this.#fault(after.steadyMs);
  }

  /** The database's clock as it was last believed, carried on by the steady clock; undefined before it has agreed with ours. */
  believedDatabaseMs(steadyMs: number): number | undefined {
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

  /** A clock that the database never agreed with was wrong before the jump, so the jump is its correction. */
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
