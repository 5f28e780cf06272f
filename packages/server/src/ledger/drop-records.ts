import type { TraceDropEvent, TraceLogEvent, TraceSubmission } from '@countersign/core/domain/trace-event';
import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { findDroppedTraces } from '../storage/dropped-traces.ts';
import { readTraceEvents } from '../storage/trace-events.ts';

/** The largest number of remembered events. A few are enough, because traces that were recorded together are usually dropped together. */
const EVENTS_MAX = 16;

/** Looks up in the trace log which submissions and exports were dropped. */
export class DropRecords {
  readonly #pool: Pool;
  readonly #tenantId: string;
  /** By the number of an event: the IDs of the traces that the event dropped, each with its number of submissions. */
  readonly #events = new Map<number, ReadonlyMap<string, number>>();
  /** The digests of erased exports in the events that were read, and the number of the last of these events. */
  readonly #erasedExports = new Set<string>();
  #lastRead = 0;

  constructor(pool: Pool, tenantId: string) {
    this.#pool = pool;
    this.#tenantId = tenantId;
  }

  /** Returns the given submissions that were dropped. The table of dropped traces only names an event; the event is the proof. */
  async find(submissions: readonly TraceSubmission[]): Promise<Set<TraceSubmission>> {
    const ids = [...new Set(submissions.map(({ id }) => id))];
    const places = await inTenantTransaction(this.#pool, this.#tenantId, (tx) => findDroppedTraces(tx, ids));
    const seqOf = new Map(places.map(({ trace, seq }) => [trace, seq]));
    const found = new Set<TraceSubmission>();
    for (const each of submissions) {
      const seq = seqOf.get(each.id);
      if (seq === undefined) continue;
      const dropped = (await this.#tracesOf(seq)).get(each.id);
      if (dropped !== undefined && each.number <= dropped) found.add(each);
    }
    return found;
  }

  /**
   * Whether an export with this digest was erased with one trace, although submissions of other traces were also mapped from it. Reads the
   * log once, and then only the events that were appended since, because an export may be erased during a verification.
   */
  async isErasedExport(digest: string): Promise<boolean> {
    if (!this.#erasedExports.has(digest)) await this.#readErasedExports();
    return this.#erasedExports.has(digest);
  }

  async #tracesOf(seq: number): Promise<ReadonlyMap<string, number>> {
    const known = this.#events.get(seq);
    if (known !== undefined) return known;
    const [stored] = await inTenantTransaction(this.#pool, this.#tenantId, (tx) => readTraceEvents(tx, seq - 1, seq));
    const event = stored === undefined ? undefined : (JSON.parse(stored.document) as TraceLogEvent);
    const traces: TraceDropEvent['traces'] = event?.action === 'traces.dropped' ? event.traces : [];
    const counts = new Map(traces.map(({ id, submissions }) => [id, submissions]));
    if (this.#events.size >= EVENTS_MAX) this.#events.delete(this.#events.keys().next().value!);
    this.#events.set(seq, counts);
    return counts;
  }

  async #readErasedExports(): Promise<void> {
    for await (const event of readTraceLog(this.#pool, this.#tenantId, this.#lastRead, Number.MAX_SAFE_INTEGER)) {
      this.#lastRead = event.seq;
      if (event.action === 'traces.dropped') for (const digest of event.exports) this.#erasedExports.add(digest);
    }
  }
}

/** Reads the stored events of the trace log after number `after`, up to and including `last`, in order. */
export async function* readTraceLog(pool: Pool, tenantId: string, after: number, last: number): AsyncGenerator<TraceLogEvent> {
  for (let read = after; read < last; ) {
    const page = await inTenantTransaction(pool, tenantId, (tx) => readTraceEvents(tx, read, last));
    if (page.length === 0) return;
    read = page.at(-1)!.seq;
    for (const { document } of page) yield JSON.parse(document) as TraceLogEvent;
  }
}
