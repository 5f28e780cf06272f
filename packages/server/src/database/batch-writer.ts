import { ApiError, unavailable } from '../errors/api-error.ts';
import type { Admission } from './admission.ts';
import { isDatabaseUnavailable, isWorthRetrying } from './pool.ts';
import type { Slots } from './slots.ts';

/** An item to write, with the properties by which batches are formed. */
export interface Item {
  /** Its size in the queue, in bytes. */
  readonly bytes: number;
  /** Keys that must be unique in a batch (a trace_id, an idempotency key). A second item with the same key waits for a later batch. */
  readonly batchKeys: readonly string[];
}

/** Thrown by `write` to reject some items after it has written rows. The batch is rolled back and retried without these items. */
export class RejectedItemsError extends Error {
  readonly rejections: ReadonlyMap<Item, ApiError>;
  constructor(rejections: ReadonlyMap<Item, ApiError>) {
    super('some items of the batch are rejected');
    this.rejections = rejections;
  }
}

/**
 * Adds newly arrived items to a batch that was taken earlier, and returns them. `write` calls this function after it has waited for a
 * lock, so that these items do not wait for the next batch.
 */
export type TakeMore<I> = () => readonly I[];

/** The options of a batch writer. */
export interface BatchOptions<I extends Item, Result> {
  name: string;
  /** The maximum number of items of a batch. */
  itemsMax: number;
  /** The maximum number of concurrent batches of one tenant: 1 if the order of the items matters, otherwise 2. */
  inFlightMax: number;
  admission: Admission;
  /** Limits the concurrent batches of all batch writers of the process to the number of connections. */
  slots: Slots;
  /**
   * Writes the given items of one tenant in one transaction. Returns their outcomes in order: a response, or the reason of a rejection.
   * The transaction is committed when the promise resolves. After a conflict with another transaction (isWorthRetrying), the same batch is
   * retried.
   * @param takeMore the outcomes of the items that it returns follow the outcomes of `items`.
   */
  write: (tenantId: string, items: readonly I[], takeMore: TakeMore<I>) => Promise<(Result | ApiError)[]>;
  /** Called with the number of items of each batch that was written. */
  observe?: (items: number) => void;
}

interface QueuedItem<I, Result> {
  item: I;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** The queue of one tenant. */
interface TenantQueue<I, Result> {
  items: QueuedItem<I, Result>[];
  /** The number of active batches. */
  inFlight: number;
  /** The number of items of the previous batch. */
  previousSize: number;
}

/** The maximum bytes of a batch with several items. A larger batch would need more memory and would not be written faster. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** How often a batch is tried in total if it conflicts with other transactions. */
const TRIES_MAX = 5;
/** A batch that is retried takes no further items. */
const TAKE_NONE = () => [];
/** Batches below this size are not split, because every batch has a fixed cost. */
const SPLIT_ITEMS_MIN = 16;

/**
 * Group commit: items of a tenant that arrive while its batches are being committed wait for the next batches. There is no timer: the
 * next batch starts when a previous one ends. The promise of an item resolves after COMMIT has returned.
 */
export class BatchWriter<I extends Item, Result> {
  readonly #options: BatchOptions<I, Result>;
  readonly #queues = new Map<string, TenantQueue<I, Result>>();

  constructor(options: BatchOptions<I, Result>) {
    this.#options = options;
  }

  /**
   * Queues an item, and resolves with its response when it is committed. Rejects if it is not committed, or if the outcome is unknown.
   * @throws ApiError `unavailable` (503), before it returns a promise, if the queue is full.
   */
  submit(tenantId: string, item: I): Promise<Result> {
    this.#options.admission.enter(tenantId, item.bytes);
    const settled = new Promise<Result>((resolve, reject) => {
      this.#queueOf(tenantId).items.push({ item, resolve, reject });
    });
    this.#scheduleFlush(tenantId);
    return settled.finally(() => this.#options.admission.leave(tenantId, item.bytes));
  }

  #queueOf(tenantId: string): TenantQueue<I, Result> {
    let queue = this.#queues.get(tenantId);
    if (queue === undefined) {
      queue = { items: [], inFlight: 0, previousSize: 0 };
      this.#queues.set(tenantId, queue);
    }
    return queue;
  }

  /** Starts a batch, unless `inFlightMax` batches are active. Items of the same tick go into one batch. */
  #scheduleFlush(tenantId: string): void {
    const queue = this.#queueOf(tenantId);
    if (queue.items.length === 0 || queue.inFlight >= this.#options.inFlightMax) return;
    queue.inFlight += 1;
    setImmediate(() => void this.#flush(tenantId, queue));
  }

  async #flush(tenantId: string, queue: TenantQueue<I, Result>): Promise<void> {
    const release = await this.#options.slots.take();
    // The items are taken only now, to include those that arrived while this batch waited for a connection.
    const batch = this.#take(queue);
    const takeMore = () => this.#takeMore(queue, batch);
    const settlePromises = batch.length > 0 ? await this.#write(tenantId, batch, takeMore) : () => undefined;
    release();
    queue.inFlight -= 1;
    if (queue.items.length > 0) {
      // The next batch starts before the promises of this one are settled, so that the database is not idle meanwhile.
      queue.inFlight += 1;
      void this.#flush(tenantId, queue);
      setImmediate(settlePromises);
    } else {
      if (queue.inFlight === 0) this.#queues.delete(tenantId);
      settlePromises();
    }
  }

  /**
   * Takes the next batch. Its limit is half of the sum of the waiting items and the items of the previous batch, but at least
   * SPLIT_ITEMS_MIN. Senders wait for their responses, so the next items of a batch arrive together after its commit. With all items in one
   * batch, the database would wait for this process, and this process for the database. With two halves both work at the same time.
   */
  #take(queue: TenantQueue<I, Result>): QueuedItem<I, Result>[] {
    const half = Math.ceil((queue.items.length + queue.previousSize) / 2);
    const batch: QueuedItem<I, Result>[] = [];
    this.#fill(batch, queue, Math.max(SPLIT_ITEMS_MIN, half));
    queue.previousSize = batch.length;
    return batch;
  }

  /** Adds the waiting items to a batch that was taken earlier, and returns them. */
  #takeMore(queue: TenantQueue<I, Result>, batch: QueuedItem<I, Result>[]): I[] {
    const sizeBefore = batch.length;
    this.#fill(batch, queue, this.#options.itemsMax);
    queue.previousSize = batch.length;
    return batch.slice(sizeBefore).map(({ item }) => item);
  }

  /**
   * Moves waiting items into a batch in order, up to `itemsMax` items and BATCH_BYTES_MAX. An item stays in the queue if the batch, or an
   * earlier item that stays, has one of its batch keys.
   */
  #fill(batch: QueuedItem<I, Result>[], queue: TenantQueue<I, Result>, itemsMax: number): void {
    const remaining: QueuedItem<I, Result>[] = [];
    const keys = new Set(batch.flatMap(({ item }) => item.batchKeys));
    const limit = Math.min(this.#options.itemsMax, itemsMax);
    let bytes = batch.reduce((sum, { item }) => sum + item.bytes, 0);
    for (const waiting of queue.items) {
      const isFull = batch.length >= limit || (batch.length > 0 && bytes + waiting.item.bytes > BATCH_BYTES_MAX);
      // The keys of an item that stays count too, so that no later item with the same key overtakes it.
      const isRepeated = waiting.item.batchKeys.some((key) => keys.has(key));
      for (const key of waiting.item.batchKeys) keys.add(key);
      if (isFull || isRepeated) remaining.push(waiting);
      else {
        batch.push(waiting);
        bytes += waiting.item.bytes;
      }
    }
    queue.items = remaining;
  }

  /** Writes a batch and returns a function that settles its promises. Never rejects. */
  async #write(
    tenantId: string,
    batch: readonly QueuedItem<I, Result>[],
    takeMore: TakeMore<I>,
    tries = TRIES_MAX,
  ): Promise<() => void> {
    try {
      const outcomes = await this.#options.write(
        tenantId,
        batch.map(({ item }) => item),
        takeMore,
      );
      this.#options.observe?.(batch.length);
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

  async #recover(tenantId: string, batch: readonly QueuedItem<I, Result>[], error: unknown, tries: number): Promise<() => void> {
    if (error instanceof RejectedItemsError) {
      const rest = batch.filter(({ item, reject }) => {
        const rejection = error.rejections.get(item);
        if (rejection !== undefined) reject(rejection);
        return rejection === undefined;
      });
      if (rest.length > 0) return this.#write(tenantId, rest, TAKE_NONE, tries);
    } else if (isWorthRetrying(error) && tries > 1) {
      return this.#write(tenantId, batch, TAKE_NONE, tries - 1);
    } else if (isDatabaseUnavailable(error)) {
      // The outcome of the COMMIT may be unknown: nothing is acknowledged, and an Idempotency-Key makes a retry safe.
      for (const { reject } of batch) reject(unavailable(error));
    } else if (error instanceof ApiError && error.status === 503) {
      // The service cannot write now, whatever the items are.
      for (const { reject } of batch) reject(error);
    } else if (batch.length > 1) {
      // One invalid item must not make the others fail. Each item has its own tries, because several may conflict with other transactions.
      for (const waiting of batch) (await this.#write(tenantId, [waiting], TAKE_NONE))();
    } else {
      batch[0]?.reject(isWorthRetrying(error) ? unavailable(error) : error);
    }
    return () => undefined;
  }
}
