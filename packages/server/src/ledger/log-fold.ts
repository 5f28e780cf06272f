import { hash } from 'node:crypto';
import { applyEvent } from '@countersign/core/domain/event-conflict';
import { Frontier } from '@countersign/core/domain/merkle-tree';
import { sameBytes } from '@countersign/core/domain/signed-note';
import { sha256 } from '../crypto/digests.ts';
import type { Seals } from '../database/seals.ts';
import type { Transaction } from '../database/transaction.ts';
import type { HeadToMove, LogName, ReadHead, StoredHead } from '../storage/log-heads.ts';
import { isBehindStore, noteHeadState, seenSize } from './head-memory.ts';
import { LogRewrittenError } from './log-tree.ts';
import { readSealedHead } from './sealed-heads.ts';

/** The largest number of times that `read` reads the head while other transactions append. */
const READS_MAX = 50;

/** The number of applied events after which the weight of all states is computed again. */
const EVENTS_BETWEEN_WEIGHINGS = 1_000;

/** The state that results from the events of a log. `apply` throws EventConflictError for an event that contradicts the state. */
interface FoldedState<Event> {
  readonly size: number;
  apply(event: Event): void;
}

/** How the events of one log are read and applied. */
export interface FoldedLog<Event, State extends FoldedState<Event>> {
  log: LogName;
  /** The prefix that is hashed before the canonical text of an event. */
  domain: string;
  /**
   * Reads a page of events after number `after`, up to and including `last`, in order. The page may be empty before a gap.
   */
  read(tx: Transaction, after: number, last: number): Promise<{ seq: number; document: string }[]>;
  parse(value: unknown, expected: { seq: number; tenantId: string }): { event: Event } | { fault: string };
  create(): State;
  /** The size of a state, in the unit of `weightMax`. */
  weight(state: State): number;
  /** If the states together are heavier than this, the least recently used ones are dropped. They are read again when they are needed. */
  weightMax: number;
}

/** The state of the log of one workspace, with the tree over its events. */
interface Fold<State> {
  state: State;
  tree: Frontier;
  /** The seal of the head with which all events of the state were compared; undefined if events were applied since. */
  headSeal: Uint8Array | undefined;
}

/**
 * Caches the state of a log for each workspace. Before events from the database are used, the tree over them is compared with the sealed
 * head. So only events that the server wrote are used.
 */
export class LogFold<Event, State extends FoldedState<Event>> {
  readonly #log: FoldedLog<Event, State>;
  readonly #folds = new WeakMap<Seals, Map<string, Fold<State>>>();
  /** The number of events that were applied since the weight of all states was last computed. */
  #appliedSinceWeighed = 0;

  constructor(log: FoldedLog<Event, State>) {
    this.#log = log;
  }

  /**
   * Reads the state of a workspace, without a lock.
   * @param use receives the state and the database's clock (UTC with microseconds). It must not store the state, because later events
   * change it. No time in the log is after this clock, unless a clock was wrong.
   * @param read the head of the log, if the caller has read it.
   * @throws LogRewrittenError if the log was changed outside the server.
   * @throws Error if other transactions appended during each of READS_MAX reads.
   */
  async read<T>(tx: Transaction, use: (state: State, readAt: string) => T, read?: ReadHead): Promise<T> {
    let head = read ?? (await readSealedHead(tx, this.#log.log));
    for (let reads = 1; reads <= READS_MAX; reads += 1) {
      const known = this.#foldOf(tx);
      const fold = known?.state.size === head.seq ? known : await this.#readUpTo(tx, head);
      if (fold.state.size === head.seq) {
        const state = this.#verify(tx, fold, head);
        fold.headSeal = head.seal ?? undefined;
        return use(state, head.readAt);
      }
      // Another transaction has applied later events. Their times may be later than the clock that was read.
      const newHead = await readSealedHead(tx, this.#log.log);
      if (newHead.seq <= head.seq) this.forget(tx); // A restore was accepted: the log is shorter than the cached state.
      head = newHead;
    }
    throw new Error(`the log ${this.#log.log} of tenant ${tx.tenantId} has grown during ${READS_MAX} reads`);
  }

  /** Reads the state at a locked head, which no other transaction can move. Throws LogRewrittenError as `read` does. */
  async atHead(tx: Transaction, head: Pick<HeadToMove, 'seq' | 'tree'>): Promise<State> {
    return this.#verify(tx, await this.#readUpTo(tx, head), head);
  }

  /**
   * The cached state, if `read` has compared it with the head that has this seal. Otherwise undefined; also undefined if this process has
   * seen a later head or refuses the log (`refuseLog`). The seal covers the whole head, so the caller needs to read only the seal.
   */
  cached(seals: Seals, tenantId: string, headSeal: Uint8Array | null): State | undefined {
    const fold = this.#folds.get(seals)?.get(tenantId);
    if (fold?.headSeal === undefined || headSeal === null || Buffer.compare(fold.headSeal, headSeal) !== 0) return undefined;
    const [owner, { log }] = [{ seals, tenantId }, this.#log];
    const isCurrent = seenSize(owner, log) <= fold.state.size && !isBehindStore(owner, log, fold.state.size);
    return isCurrent ? fold.state : undefined;
  }

  /** Applies events that this process has appended and committed, if the cached state covers exactly the events before them. */
  applyCommitted(tx: Transaction, before: HeadToMove, events: readonly Event[], leafData: readonly Uint8Array[]): void {
    const fold = this.#foldOf(tx);
    if (fold === undefined || fold.state.size !== before.seq) return;
    fold.headSeal = undefined;
    events.forEach((event, index) => {
      fold.state.apply(event);
      fold.tree.append(leafData[index]!);
    });
    this.#noteApplied(tx, events.length);
  }

  /** Drops the cached state of the workspace. It is read again when it is needed. */
  forget(tx: Transaction): void {
    this.#folds.get(tx.seals)?.delete(tx.tenantId);
  }

  #foldOf(tx: Transaction): Fold<State> | undefined {
    return this.#folds.get(tx.seals)?.get(tx.tenantId);
  }

  /** Reads and applies the events that the state lacks, up to the head. Concurrent calls are safe: each event is applied once. */
  async #readUpTo(tx: Transaction, head: Pick<StoredHead, 'seq'>): Promise<Fold<State>> {
    const fold = this.#use(tx);
    while (fold.state.size < head.seq) {
      const page = await this.#log.read(tx, fold.state.size, head.seq);
      const next = page.findIndex(({ seq }) => seq === fold.state.size + 1);
      if (next === -1 && fold.state.size < (page.at(-1)?.seq ?? head.seq))
        throw this.#rewrittenError(tx, `event ${fold.state.size + 1} is gone`);
      const rows = next === -1 ? [] : page.slice(next);
      for (const row of rows) this.#apply(tx, fold, row);
      this.#noteApplied(tx, rows.length);
    }
    return fold;
  }

  /**
   * Counts applied events. Events make states heavier, so the oldest states may have to be dropped. The weight is computed only after many
   * events, because weighing all states takes time.
   */
  #noteApplied(tx: Transaction, eventCount: number): void {
    this.#appliedSinceWeighed += eventCount;
    if (this.#appliedSinceWeighed < EVENTS_BETWEEN_WEIGHINGS) return;
    this.#dropOldest(this.#folds.get(tx.seals) ?? new Map(), tx.tenantId);
  }

  /** Returns the fold of the workspace, an empty one if none is cached, and marks it as the most recently used. */
  #use(tx: Transaction): Fold<State> {
    const folds = this.#folds.get(tx.seals) ?? new Map<string, Fold<State>>();
    this.#folds.set(tx.seals, folds);
    const known = folds.get(tx.tenantId);
    if (known === undefined) this.#dropOldest(folds, tx.tenantId);
    const fold = known ?? { state: this.#log.create(), tree: new Frontier(sha256), headSeal: undefined };
    folds.delete(tx.tenantId);
    folds.set(tx.tenantId, fold);
    return fold;
  }

  /** If the states are too heavy together, drops the least recently used ones, except the state of the workspace `usedTenantId`. */
  #dropOldest(folds: Map<string, Fold<State>>, usedTenantId: string): void {
    this.#appliedSinceWeighed = 0;
    let weight = 0;
    for (const { state } of folds.values()) weight += this.#log.weight(state) + 1;
    for (const [tenantId, { state }] of folds) {
      if (weight <= this.#log.weightMax) return;
      if (tenantId === usedTenantId) continue;
      folds.delete(tenantId);
      weight -= this.#log.weight(state) + 1;
    }
  }

  #apply(tx: Transaction, fold: Fold<State>, { seq, document }: { seq: number; document: string }): void {
    const read = this.#log.parse(parseDocument(document), { seq: fold.state.size + 1, tenantId: tx.tenantId });
    if ('fault' in read) throw this.#rewrittenError(tx, `event ${seq}: ${read.fault}`);
    fold.headSeal = undefined;
    const conflict = applyEvent(fold.state, read.event);
    if (conflict !== undefined) throw this.#rewrittenError(tx, `event ${seq}: ${conflict}`);
    fold.tree.append(hash('sha256', this.#log.domain + document, 'buffer'));
  }

  /** Returns the state if its events match the sealed head. Otherwise throws LogRewrittenError. */
  #verify(tx: Transaction, fold: Fold<State>, head: Pick<StoredHead, 'seq' | 'tree'>): State {
    const { state, tree } = fold;
    if (state.size === head.seq && sameBytes(Buffer.concat(tree.roots), head.tree.frontier)) return state;
    throw this.#rewrittenError(tx, `the ${state.size} events do not match the sealed head, which covers ${head.seq} events`);
  }

  /** Returns the error for a changed log. Drops the state, because applied events cannot be undone. */
  #rewrittenError(tx: Transaction, fault: string): LogRewrittenError {
    this.forget(tx);
    noteHeadState(tx, this.#log.log, false);
    return new LogRewrittenError(`the log ${this.#log.log} of tenant ${tx.tenantId}: ${fault}`);
  }
}

function parseDocument(document: string): unknown {
  try {
    return JSON.parse(document);
  } catch {
    return undefined;
  }
}
