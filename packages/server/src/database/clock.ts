import { uptime } from 'node:os';
import { CLOCK_DIFFERENCE_MAX_MS, type ClockFault, ClockGuard, type ClockReading } from '@countersign/core/domain/clock-guard';
import type { Pool } from 'pg';
import { ApiError } from '../errors/api-error.ts';

/** No moment can be taken from the clocks now. The transaction is rolled back, and the sender tries again later. */
export class ClockUnsafeError extends ApiError {
  override name = 'ClockUnsafeError';

  constructor(message: string, retryAfterSeconds: number) {
    super('clock_unsafe', [{ path: '', code: 'clock_unsafe', message }], { 'Retry-After': String(retryAfterSeconds) });
    this.message = message;
  }
}

/** Longest `Retry-After`: a clock may be put right at any moment. */
const RETRY_AFTER_SECONDS_MAX = 60;

/** A refused request is tried again after this where nothing says when the clock will be right. */
const RETRY_AFTER_SECONDS = 5;

/** The clocks of this process and of one database: whether moments may be taken from them. */
export class Clock {
  readonly #steady = new SteadyClock();
  readonly #guard = new ClockGuard(this.read());

  /** Our clocks now. To compare with the database's, read once before a statement is sent and once after its answer. */
  read(): ClockReading {
    return { wallMs: Date.now(), steadyMs: this.#steady.now() };
  }

  /** What is wrong with the clocks now, if anything. Costs two readings of a clock. */
  fault(): ClockFault | undefined {
    const fault = this.#guard.observe(this.read());
    // A suspended machine looks like a jump until the steady clock has been told how long it was suspended.
    return fault?.kind === 'jumped' && this.#steady.catchUp() ? this.#guard.observe(this.read()) : fault;
  }

  /** Throws unless moments may be taken from the clocks. */
  requireSafe(): void {
    const fault = this.fault();
    if (fault !== undefined) throw clockUnsafe(fault);
  }

  /**
   * Compares the database's clock with ours.
   * @param before our clocks before the statement that read it was sent.
   * @param databaseTime ISO 8601.
   */
  compare(before: ClockReading, databaseTime: string): ClockFault | undefined {
    this.fault();
    return this.#guard.compare({ before, after: this.read(), databaseMs: Date.parse(databaseTime) });
  }

  /** The same, and throws unless moments may be taken from the clocks. */
  requireAgreement(before: ClockReading, databaseTime: string): void {
    const fault = this.compare(before, databaseTime);
    if (fault !== undefined) throw clockUnsafe(fault);
  }

  /**
   * The earliest and the latest time, ISO 8601, that the database's clock is believed to show now: for statements that ask what has
   * expired (storage/expiry-clock.ts). During a fault both are the time believed before it. Nulls before the clocks first agreed.
   */
  expiryBounds(): readonly [earliest: string | null, latest: string | null] {
    const slackMs = this.fault() === undefined ? CLOCK_DIFFERENCE_MAX_MS : 0;
    const believedMs = this.#guard.believedDatabaseMs(this.#steady.now());
    if (believedMs === undefined) return [null, null];
    return [new Date(believedMs - slackMs).toISOString(), new Date(believedMs + slackMs).toISOString()];
  }

  /** Our time of day, held within `expiryBounds`: by it the moments under seals are made and expire, whatever the database says. */
  now(): Date {
    const nowMs = Date.now();
    const [earliest, latest] = this.expiryBounds();
    if (earliest === null || latest === null) return new Date(nowMs);
    return new Date(Math.max(Math.min(nowMs, Date.parse(latest)), Date.parse(earliest)));
  }
}

const clocks = new WeakMap<Pool, Clock>();

/** Makes pools of one database share a clock. */
export function shareClock(pools: readonly Pool[]): Clock {
  const clock = new Clock();
  for (const pool of pools) clocks.set(pool, clock);
  return clock;
}

/** The clock of a pool's database. */
export const clockOf = (pool: Pool): Clock => clocks.get(pool) ?? shareClock([pool]);

/** A clock that nobody sets. On Linux `performance.now()` stops while the machine is suspended and the uptime does not. */
class SteadyClock {
  #suspendedMs = 0;
  #aheadMs = uptimeAhead();

  now(): number {
    return performance.now() + this.#suspendedMs;
  }

  /** Takes in how long the machine was suspended; returns whether it was. */
  catchUp(): boolean {
    const aheadMs = uptimeAhead();
    const sinceMs = aheadMs - this.#aheadMs;
    if (sinceMs < SUSPENDED_MS_MIN) return false;
    this.#aheadMs = aheadMs;
    this.#suspendedMs += sinceMs;
    return true;
  }
}

/** Less than this is the resolution of the uptime. */
const SUSPENDED_MS_MIN = 500;

/** Elsewhere `performance.now()` runs on during a suspension, and the uptime may be computed from the time of day. */
const uptimeAhead = (): number => (process.platform === 'linux' ? uptime() * 1000 - performance.now() : 0);

/** Says what is wrong in words, with what to do. */
export function describeFault({ kind, aheadMs, clearsInMs }: ClockFault): string {
  const seconds = `${Math.round(Math.abs(aheadMs) / 1000)} s`;
  const clears = clearsInMs === null ? '' : `, or in ${Math.ceil(clearsInMs / 1000)} s if the time stays as it is`;
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

/** The last moment of a log is so far ahead of the database's clock that waiting for it would take too long. */
export const clockBehindLog = (log: string, lastMoment: string, leadMs: number): ClockUnsafeError =>
  new ClockUnsafeError(
    `Nothing was stored: the last row of the log ${log} bears the moment ${lastMoment}, which is ${Math.ceil(leadMs / 1000)} s ahead of the ` +
      "database's clock. Put the clock right if it is behind. If the clock was ahead when that row was written, the operator runs " +
      '`countersign-server ledger correct-clock`.',
    Math.min(RETRY_AFTER_SECONDS_MAX, Math.ceil(leadMs / 1000)),
  );
