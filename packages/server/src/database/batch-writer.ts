import { ApiError, unavailable } from '../errors/api-error.ts';
import type { Admission } from './admission.ts';
import { isDatabaseAway, isWorthRetrying } from './pool.ts';
import type { Slots } from './slots.ts';

/** One thing to be written, with what a batch needs to know about it. */
export interface Item {
  /** Its size in the queue. */
  readonly bytes: number;
  /** What may stand only once in a batch (a trace_id, an idempotency key): a second one waits for the next batch. */
  readonly foldKeys: readonly string[];
}

/** Items found wanting after something was written. The batch is rolled back and tried again without them. */
export class RefusedItems extends Error {
  readonly refused: ReadonlyMap<Item, ApiError>;
  constructor(refused: ReadonlyMap<Item, ApiError>) {
    super('some items of the batch are refused');
    this.refused = refused;
  }
}

/** What a batch writer is told. */
export interface BatchOptions<I extends Item, Answer> {
  name: string;
  itemsMax: number;
  /** Batches of one tenant under way at once: 1 for a ledger, 2 where order does not matter. */
  inFlightMax: number;
  admission: Admission;
  /** Connections, shared by all batch writers of the process. */
  slots: Slots;
  /**
   * Writes all items of one tenant in one transaction and returns their outcomes in order: an answer, or why that one is refused.
   * Committed when it resolves. A unique violation means that another batch was first: the same batch is tried again.
   */
  write: (tenantId: string, items: readonly I[]) => Promise<(Answer | ApiError)[]>;
  observe?: (items: number) => void;
}

interface Waiting<I, Answer> {
  item: I;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

interface Lane<I, Answer> {
  queue: Waiting<I, Answer>[];
  inFlight: number;
  /** Items of the batch before. */
  lastItems: number;
}

/** A batch this many bytes long is full: larger parameters only cost memory. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const TRIES = 5;
/** Fewer than these are not parted: a batch has a price of its own. */
const PARTED_FROM = 16;

/**
 * Group commit: what arrives for a tenant while its last batch is being committed goes together in the next one.
 * There is no timer: a flush starts when the last one ends. An item's promise settles after COMMIT has returned, not before.
 */
export class BatchWriter<I extends Item, Answer> {
  readonly #options: BatchOptions<I, Answer>;
  readonly #lanes = new Map<string, Lane<I, Answer>>();

  constructor(options: BatchOptions<I, Answer>) {
    this.#options = options;
  }

  /** Queues an item; resolves with its answer once it is committed. Throws 503 at once when the queue is full. */
  submit(tenantId: string, item: I): Promise<Answer> {
    this.#options.admission.enter(tenantId, item.bytes);
    const settled = new Promise<Answer>((resolve, reject) => {
      this.#lane(tenantId).queue.push({ item, resolve, reject });
    });
    this.#flushSoon(tenantId);
    return settled.finally(() => this.#options.admission.leave(tenantId, item.bytes));
  }

  #lane(tenantId: string): Lane<I, Answer> {
    let lane = this.#lanes.get(tenantId);
    if (lane === undefined) {
      lane = { queue: [], inFlight: 0, lastItems: 0 };
      this.#lanes.set(tenantId, lane);
    }
    return lane;
  }

  /** Starts a batch unless as many as may are under way. Items of the same turn of the event loop travel together. */
  #flushSoon(tenantId: string): void {
    const lane = this.#lane(tenantId);
    if (lane.queue.length === 0 || lane.inFlight >= this.#options.inFlightMax) return;
    lane.inFlight += 1;
    setImmediate(() => void this.#flush(tenantId, lane));
  }

  async #flush(tenantId: string, lane: Lane<I, Answer>): Promise<void> {
    const release = await this.#options.slots.take();
    // Taken only now: whatever arrived while this batch waited for a connection goes with it.
    const batch = this.#take(lane);
    const tell = batch.length > 0 ? await this.#settle(tenantId, batch) : () => undefined;
    release();
    lane.inFlight -= 1;
    if (lane.queue.length > 0) {
      // The next batch is on its way before the answers of this one are made: the database works meanwhile.
      lane.inFlight += 1;
      void this.#flush(tenantId, lane);
      setImmediate(tell);
    } else {
      if (lane.inFlight === 0) this.#lanes.delete(tenantId);
      tell();
    }
  }

  /**
   * The next items in order, leaving those whose fold key is in the batch already; and no more than half of them and those of the batch
   * before. Callers that wait for their answers come back together: with all in one batch the database and this process would work
   * in turn, and with two halves they work at once.
   */
  #take(lane: Lane<I, Answer>): Waiting<I, Answer>[] {
    const batch: Waiting<I, Answer>[] = [];
    const left: Waiting<I, Answer>[] = [];
    const keys = new Set<string>();
    const itemsMax = Math.min(this.#options.itemsMax, Math.max(PARTED_FROM, Math.ceil((lane.queue.length + lane.lastItems) / 2)));
    let bytes = 0;
    for (const waiting of lane.queue) {
      const full = batch.length >= itemsMax || (batch.length > 0 && bytes + waiting.item.bytes > BATCH_BYTES_MAX);
      // What is left behind also keeps its keys: a later item of the same key must not overtake it.
      const repeated = waiting.item.foldKeys.some((key) => keys.has(key));
      for (const key of waiting.item.foldKeys) keys.add(key);
      if (full || repeated) left.push(waiting);
      else {
        batch.push(waiting);
        bytes += waiting.item.bytes;
      }
    }
    lane.queue = left;
    lane.lastItems = batch.length;
    return batch;
  }

  /** Writes a batch, whatever happens, and gives back what settles its promises. Never rejects. */
  async #settle(tenantId: string, batch: readonly Waiting<I, Answer>[], tries = TRIES): Promise<() => void> {
    try {
      this.#options.observe?.(batch.length);
      const outcomes = await this.#options.write(
        tenantId,
        batch.map(({ item }) => item),
      );
      return () => {
        batch.forEach(({ resolve, reject }, index) => {
          const outcome = outcomes[index]!;
          if (outcome instanceof ApiError) reject(outcome);
          else resolve(outcome);
        });
      };
    } catch (error) {
      return this.#recover(tenantId, batch, error, tries);
    }
  }

  async #recover(tenantId: string, batch: readonly Waiting<I, Answer>[], error: unknown, tries: number): Promise<() => void> {
    if (error instanceof RefusedItems) {
      const rest = batch.filter(({ item, reject }) => {
        const refusal = error.refused.get(item);
        if (refusal !== undefined) reject(refusal);
        return refusal === undefined;
      });
      if (rest.length > 0) return this.#settle(tenantId, rest, tries);
    } else if (isWorthRetrying(error) && tries > 1) {
      return this.#settle(tenantId, batch, tries - 1);
    } else if (isDatabaseAway(error)) {
      // Whether the COMMIT arrived is not known: nothing is acknowledged, and an Idempotency-Key makes trying again safe.
      for (const { reject } of batch) reject(unavailable(error));
    } else if (error instanceof ApiError && error.status === 503) {
      // The service cannot write now, whatever the items are.
      for (const { reject } of batch) reject(error);
    } else if (batch.length > 1) {
      // One bad item must not fail its neighbours.
      for (const waiting of batch) (await this.#settle(tenantId, [waiting], tries))();
    } else {
      batch[0]?.reject(error);
    }
    return () => undefined;
  }
}
