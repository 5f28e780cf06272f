import type { LockedHead } from '../storage/log-heads.ts';

/** A head is read again this often, so that the two clocks are compared again. */
const REMEMBERED_MS = 60_000;

/** So far the wall clock may stray from the steady one before the clocks are compared again: beyond what keeps it right. */
const STRAY_MS = 1_000;

/** After a wrong guess another process appends to this log too: for so long every batch reads the head. */
const SHARED_MS = 1_000;

/** Tenants remembered at once; beyond, all are forgotten. */
const TENANTS_MAX = 10_000;

interface Memory {
  head: LockedHead | undefined;
  /** The database's clock minus our steady one, in milliseconds. */
  clockAhead: number;
  /**
   * The wall clock minus our steady one when the head was read: another difference means that it was set since, or that the machine slept.
   */
  wallAhead: number;
  readAt: number;
  /** Until when heads are read, because another process moves them as well. */
  sharedUntil: number;
}

/**
 * Where this process left the heads of one log of its tenants: a guess that spares a batch the round trip of reading one. Nothing
 * that must be right lives here: the statement that moves a guessed head fails when the database has another one (`moveGuessedHead`),
 * the batch is rolled back, and tried again with the head read and locked. A head may be remembered before its batch is committed: the
 * statement that moves the next one waits for that.
 */
export class RememberedHeads {
  readonly #memories = new Map<string, Memory>();
  readonly #clock: () => number;
  readonly #wallClock: () => number;

  /** @param clock a monotonic clock. */
  constructor(clock: () => number = () => performance.now(), wallClock: () => number = Date.now) {
    this.#clock = clock;
    this.#wallClock = wallClock;
  }

  /** The head to build on, if there is one, with the moment by the database's clock. `remember` takes what it becomes. */
  take(tenantId: string): LockedHead | undefined {
    const memory = this.#memories.get(tenantId);
    if (memory === undefined) return undefined;
    const now = this.#clock();
    const { head, readAt, clockAhead, wallAhead } = memory;
    if (head === undefined || now - readAt > REMEMBERED_MS) return undefined;
    if (Math.abs(this.#wallClock() - now - wallAhead) > STRAY_MS) return undefined;
    const moment = new Date(now + clockAhead).toISOString();
    if (moment < head.now) return undefined; // the head is read, and the clock waited for
    return { ...head, now: moment, guessed: { seq: head.seq, rowHash: head.rowHash } };
  }

  /** Whether there is a head that `take` may give. */
  has(tenantId: string): boolean {
    return this.#memories.get(tenantId)?.head !== undefined;
  }

  /**
   * Forgets a head: a batch that was to move it has failed.
   * @param isWrongGuess whether the database had another head: then another process moves it too.
   */
  drop(tenantId: string, isWrongGuess: boolean): void {
    const memory = this.#memories.get(tenantId);
    if (memory === undefined) return;
    // With the head forgotten already, the guess was what a batch of this process should have written, and that one was rolled back.
    if (isWrongGuess && memory.head !== undefined) memory.sharedUntil = this.#clock() + SHARED_MS;
    memory.head = undefined;
  }

  /** Keeps a head that this process has moved. */
  remember(tenantId: string, { guessed, ...head }: LockedHead): void {
    const now = this.#clock();
    const known = this.#memories.get(tenantId);
    if (guessed !== undefined) {
      // Forgotten meanwhile with all others: what the head says of the clock is as old as its reading.
      if (known === undefined) return;
      known.head = head;
      return;
    }
    if (known === undefined && this.#memories.size >= TENANTS_MAX) this.#memories.clear();
    const sharedUntil = known?.sharedUntil ?? 0;
    const clockAhead = Date.parse(head.clock) - now;
    this.#memories.set(tenantId, {
      head: now < sharedUntil ? undefined : head,
      clockAhead,
      wallAhead: this.#wallClock() - now,
      readAt: now,
      sharedUntil,
    });
  }
}
