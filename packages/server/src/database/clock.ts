import { uptime } from 'node:os';
import { CLOCK_DIFFERENCE_MAX_MS, type ClockFault, ClockGuard, type ClockReading } from '@countersign/core/domain/clock-guard';
import type { Pool } from 'pg';
import { ApiError } from '../errors/api-error.ts';

/** The clocks cannot be used now. The transaction must be rolled back. The response asks the sender to retry later. */
export class ClockUnsafeError extends ApiError {
  override name = 'ClockUnsafeError';

  constructor(message: string, retryAfterSeconds: number) {
    super('clock_unsafe', [{ path: '', code: 'clock_unsafe', message }], { 'Retry-After': String(retryAfterSeconds) });
    this.message = message;
  }
}

/** The longest `Retry-After`, in seconds. It is short, because a clock may be corrected at any time. */
const RETRY_AFTER_SECONDS_MAX = 60;

/** The `Retry-After`, in seconds, if it is unknown when the clock will be right. */
const RETRY_AFTER_SECONDS = 5;

/** The clocks of this process and of one database, and whether they can be used. */
export class Clock {
  readonly #steady = new SteadyClock();
  readonly #guard = new ClockGuard(this.read());

  /**
   * Reads the clocks of this process. To compare them with the database's clock, call this before the statement is sent, and `compare`
   * after the response.
   */
  read(): ClockReading {
    return { wallMs: Date.now(), steadyMs: this.#steady.now() };
  }

  /** Reads the clocks of this process, and returns the current fault, if any. */
  fault(): ClockFault | undefined {
    let reading = this.read();
    if (this.#guard.hasJumped(reading)) {
      // A suspension of the machine looks like a jump until the monotonic clock accounts for it.
      this.#steady.catchUp();
      reading = this.read();
    }
    return this.#guard.observe(reading);
  }

  /** @throws ClockUnsafeError if the clocks cannot be used. */
  requireSafe(): void {
    const fault = this.fault();
    if (fault !== undefined) throw clockUnsafe(fault);
  }

  /**
   * Compares the database's clock with the clocks of this process. Returns the current fault, if any.
   * @param before the result of `read` before the statement was sent.
   * @param databaseTime the response to the statement, ISO 8601.
   */
  compare(before: ClockReading, databaseTime: string): ClockFault | undefined {
    this.fault();
    return this.#guard.compare({ before, after: this.read(), databaseMs: Date.parse(databaseTime) });
  }

  /** Like `compare`. @throws ClockUnsafeError if the clocks cannot be used. */
  requireAgreement(before: ClockReading, databaseTime: string): void {
    const fault = this.compare(before, databaseTime);
    if (fault !== undefined) throw clockUnsafe(fault);
  }

  /**
   * The earliest and the latest time, ISO 8601, that the database's clock should show now, for statements about expiry
   * (storage/expiry-clock.ts). During a fault both are the last accepted time, advanced by the monotonic clock. Before the clocks first
   * agree, both are null.
   */
  expiryBounds(): readonly [earliest: string | null, latest: string | null] {
    const slackMs = this.fault() === undefined ? CLOCK_DIFFERENCE_MAX_MS : 0;
    const trustedMs = this.#guard.trustedDatabaseMs(this.#steady.now());
    if (trustedMs === undefined) return [null, null];
    return [new Date(trustedMs - slackMs).toISOString(), new Date(trustedMs + slackMs).toISOString()];
  }

  /**
   * The system clock of this process, limited to `expiryBounds`. Times that a seal covers are set with this clock, and expiry times
   * are compared with it.
   */
  now(): Date {
    const nowMs = Date.now();
    const [earliest, latest] = this.expiryBounds();
    if (earliest === null || latest === null) return new Date(nowMs);
    return new Date(Math.max(Math.min(nowMs, Date.parse(latest)), Date.parse(earliest)));
  }
}

const clocks = new WeakMap<Pool, Clock>();

/** Makes the pools of one database share a clock. */
export function shareClock(pools: readonly Pool[]): Clock {
  const clock = new Clock();
  for (const pool of pools) clocks.set(pool, clock);
  return clock;
}

/** Gives a pool the clock of another pool of the same database. */
export const useClockOf = (pool: Pool, other: Pool): void => void clocks.set(pool, clockOf(other));

/** The clock of a pool's database. A pool that shares no clock gets its own. */
export const clockOf = (pool: Pool): Clock => clocks.get(pool) ?? shareClock([pool]);

/** A monotonic clock. On Linux `performance.now()` stops while the machine is suspended, but the uptime continues. */
class SteadyClock {
  #suspendedMs = 0;
  #aheadMs = uptimeAhead();

  now(): number {
    return performance.now() + this.#suspendedMs;
  }

  /** Accounts for a suspension of the machine, if there was one. */
  catchUp(): void {
    const aheadMs = uptimeAhead();
    const suspendedMs = aheadMs - this.#aheadMs;
    if (suspendedMs < SUSPENDED_MS_MIN) return;
    this.#aheadMs = aheadMs;
    this.#suspendedMs += suspendedMs;
  }
}

/** The shortest suspension that is recognized. Smaller differences come from the resolution of the uptime. */
const SUSPENDED_MS_MIN = 500;

/**
 * How many milliseconds the uptime is ahead of `performance.now()` on Linux. 0 on other systems: there `performance.now()` continues during
 * a suspension, and the uptime may be computed from the system clock.
 */
const uptimeAhead = (): number => (process.platform === 'linux' ? uptime() * 1000 - performance.now() : 0);

/** Describes a fault and its remedy. */
export function describeFault({ kind, aheadMs, clearsInMs }: ClockFault): string {
  const seconds = `${Math.round(Math.abs(aheadMs) / 1000)} s`;
  const clears = clearsInMs === null ? '' : `, or in ${Math.ceil(clearsInMs / 1000)} s if the clock keeps the new time`;
  if (kind === 'jumped')
    return `the server's clock jumped ${aheadMs > 0 ? 'forward' : 'back'} by ${seconds}; writing resumes when the clock is right${clears}`;
  if (kind === 'apart')
    return `the database's clock is ${seconds} ${aheadMs > 0 ? 'ahead of' : 'behind'} the server's; synchronize both machines with NTP`;
  return 'the clocks were wrong and agree again; writing resumes when they have agreed for a few seconds';
}

const clockUnsafe = (fault: ClockFault): ClockUnsafeError =>
  new ClockUnsafeError(
    `Nothing was stored: ${describeFault(fault)}.`,
    Math.min(
      RETRY_AFTER_SECONDS_MAX,
      fault.clearsInMs === null ? RETRY_AFTER_SECONDS : Math.max(1, Math.ceil(fault.clearsInMs / 1000)),
    ),
  );

/** The error if the time of a log's last row is too far ahead of the database's clock to wait for that time. */
export const clockBehindLog = (log: string, lastMoment: string, leadMs: number): ClockUnsafeError =>
  new ClockUnsafeError(
    `Nothing was stored: the last row of the log ${log} has the time ${lastMoment}, which is ${Math.ceil(leadMs / 1000)} s ahead of the ` +
      "database's clock. Correct the clock if it is behind. If the clock was ahead when that row was written, the operator runs " +
      '`countersign-server ledger correct-clock`.',
    Math.min(RETRY_AFTER_SECONDS_MAX, Math.ceil(leadMs / 1000)),
  );
