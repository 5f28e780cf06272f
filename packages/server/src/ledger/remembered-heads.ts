import type { Transaction } from '../database/transaction.ts';
import type { HeadToMove, LogName } from '../storage/log-heads.ts';
import { checkStore, isBehindStore } from './head-memory.ts';

/** After this time, the head is read again, and the offsets of the database's clock and of the wall clock are measured again. */
const REMEMBERED_MS = 60_000;

/** Above this drift between wall clock and monotonic clock, a head is read again. Gradual corrections by NTP stay below it. */
const CLOCK_DRIFT_MAX_MS = 1_000;

/** For this time after a wrong guess, every batch reads the head, because another process also appends to this log. */
const SHARED_MS = 1_000;

/** The largest number of remembered tenants. Above it, all are dropped. */
const TENANTS_MAX = 10_000;

interface Memory {
  head: HeadToMove | undefined;
  /** The database's clock minus our monotonic clock, in milliseconds. */
  clockAheadMs: number;
  /**
   * The wall clock minus our monotonic clock when the head was read. If this difference changes, the clock was set, or the machine was
   * suspended.
   */
  wallAheadMs: number;
  /** When the head was last read, by our monotonic clock, in milliseconds. */
  readAt: number;
  /** Until this time of our monotonic clock every batch reads the head, because another process also moves it. */
  sharedUntil: number;
}

/**
 * The last heads of one log that this process has moved, by tenant. A remembered head is a guess that saves a batch the round trip of
 * reading the head. A wrong guess does no harm: the statement that moves the head fails (`moveGuessedHead`), and the batch is rolled back.
 * Its retry reads and locks the head. A head may be remembered before its batch is committed, because the next statement that moves it
 * waits for that commit.
 */
export class RememberedHeads {
  readonly #memories = new Map<string, Memory>();
  readonly #clock: () => number;
  readonly #wallClock: () => number;

  /**
   * @param clock a monotonic clock, in milliseconds.
   * @param wallClock the system clock, in milliseconds since 1970.
   */
  constructor(clock: () => number = () => performance.now(), wallClock: () => number = Date.now) {
    this.#clock = clock;
    this.#wallClock = wallClock;
  }

  /**
   * The remembered head with the estimated current time of the database; undefined if the head must be read. After moving the head, the
   * caller passes the new head to `remember`.
   */
  get(tenantId: string): HeadToMove | undefined {
    const memory = this.#memories.get(tenantId);
    if (memory === undefined) return undefined;
    const now = this.#clock();
    const { head, readAt, clockAheadMs, wallAheadMs } = memory;
    if (head === undefined || now - readAt > REMEMBERED_MS) return undefined;
    if (Math.abs(this.#wallClock() - now - wallAheadMs) > CLOCK_DRIFT_MAX_MS) return undefined;
    const moment = new Date(now + clockAheadMs).toISOString();
    // The estimated time is before the last row's time. So the caller must use `lockLogs`, which waits until the clock has caught up.
    if (moment < head.now) return undefined;
    return { ...head, now: moment, guessed: { seq: head.seq, rowHash: head.rowHash } };
  }

  /** Whether `get` may return a head. */
  has(tenantId: string): boolean {
    return this.#memories.get(tenantId)?.head !== undefined;
  }

  /**
   * Drops a head after a batch has failed.
   * @param isWrongGuess whether the batch failed because the database had another head.
   */
  drop(tenantId: string, isWrongGuess: boolean): void {
    const memory = this.#memories.get(tenantId);
    if (memory === undefined) return;
    // If the head was dropped before, the wrong guess came from a rolled-back batch of this process. So the failure does not show that
    // another process appends.
    if (isWrongGuess && memory.head !== undefined) memory.sharedUntil = this.#clock() + SHARED_MS;
    memory.head = undefined;
  }

  /** Remembers a head that this process has moved. */
  remember(tenantId: string, { guessed, ...head }: HeadToMove): void {
    const now = this.#clock();
    const known = this.#memories.get(tenantId);
    if (guessed !== undefined) {
      // All tenants were dropped since the guess (TENANTS_MAX), and with them the clock offset that this head needs.
      if (known === undefined) return;
      known.head = head;
      return;
    }
    if (known === undefined && this.#memories.size >= TENANTS_MAX) this.#memories.clear();
    const sharedUntil = known?.sharedUntil ?? 0;
    // The clock was read when the head was received. The batch may have taken long since then.
    const clockAheadMs = Date.parse(head.clock) - head.receivedAtMs;
    this.#memories.set(tenantId, {
      head: now < sharedUntil ? undefined : head,
      clockAheadMs,
      wallAheadMs: this.#wallClock() - now,
      readAt: head.receivedAtMs,
      sharedUntil,
    });
  }
}

/**
 * The remembered head of a log. Undefined if the head must be read and verified: none is remembered, or the HeadStore has a checkpoint of
 * more rows. Returns a promise only if it must check the HeadStore.
 */
export function guessHead(
  tx: Transaction,
  log: LogName,
  heads: RememberedHeads,
): HeadToMove | undefined | Promise<HeadToMove | undefined> {
  const guess = () => {
    const head = heads.get(tx.tenantId);
    return head !== undefined && isBehindStore(tx, log, head.seq) ? undefined : head;
  };
  const checking = checkStore(tx, log);
  return checking === undefined ? guess() : checking.then(guess);
}
