import { readTraceEvent, type TraceLogEvent, type TraceSubmission } from '@countersign/core/domain/trace-event';
import type { Pool } from 'pg';
import { digests } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { findDroppedTraces } from '../storage/dropped-traces.ts';
import { readTraceEvents, type StoredTraceEvent } from '../storage/trace-events.ts';
import { parsedDocument } from './stored-document.ts';

/** The largest number of remembered events. A few are enough, because traces that were recorded together are usually dropped together. */
const EVENTS_MAX = 16;

/** Looks up in the trace log which submissions and exports were dropped. */
export class DroppedSubmissions {
  readonly #pool: Pool;
  readonly #tenantId: string;
  /** By the number of an event: the IDs of the traces that the event dropped, each with its number of submissions. */
  readonly #events = new Map<number, ReadonlyMap<string, number>>();
  /** The number of the last event that a search has found. */
  #lastFound = 0;
  /** The digests of erased exports in the events that were read, and the number of the last of these events. */
  readonly #erasedExports = new Set<string>();
  #lastRead = 0;

  constructor(pool: Pool, tenantId: string) {
    this.#pool = pool;
    this.#tenantId = tenantId;
  }

  /**
   * Returns the given submissions that were dropped. The table of dropped traces only names an event; the event is the proof. If rows of
   * the table were changed, so that the table does not name the event, the events are searched.
   * @param recordedIn the number of the event that recorded the submissions. They were dropped later.
   */
  async find(submissions: readonly TraceSubmission[], recordedIn: number): Promise<Set<TraceSubmission>> {
    const ids = [...new Set(submissions.map(({ id }) => id))];
    const rows = await inTenantTransaction(this.#pool, this.#tenantId, (tx) => findDroppedTraces(tx, ids));
    const seqOf = new Map(rows.map(({ trace, seq }) => [trace, seq]));
    const missing = new Set(submissions);
    for (const each of submissions) {
      const seq = seqOf.get(each.id);
      if (seq !== undefined) removeDropped(missing, await this.#tracesOf(seq));
    }
    if (missing.size > 0) await this.#search(missing, recordedIn);
    return new Set(submissions.filter((each) => !missing.has(each)));
  }

  /**
   * Removes the submissions that an event after number `recordedIn` has dropped. Retention drops traces in the order in which they were
   * recorded. So this reads the remembered events first, then the events after the last one that a search has found, and then the earlier
   * ones. If every search began at `recordedIn`, and rows of the table of dropped traces were deleted, each search would read most of the
   * log.
   */
  async #search(missing: Set<TraceSubmission>, recordedIn: number): Promise<void> {
    for (const traces of this.#events.values()) removeDropped(missing, traces);
    const start = Math.max(recordedIn, this.#lastFound);
    await this.#searchRange(missing, start, Number.MAX_SAFE_INTEGER);
    await this.#searchRange(missing, recordedIn, start);
  }

  async #searchRange(missing: Set<TraceSubmission>, after: number, last: number): Promise<void> {
    if (missing.size === 0) return;
    for await (const event of readTraceLog(this.#pool, this.#tenantId, after, last)) {
      const traces = droppedBy(event);
      if (!removeDropped(missing, traces)) continue;
      this.#remember(event.seq, traces);
      this.#lastFound = event.seq;
      if (missing.size === 0) return;
    }
  }

  /**
   * Whether an export with this digest was erased when a trace was dropped, although submissions of other traces were also mapped from
   * it. Reads the log once, and then only the events that were appended since, because an export may be erased during a verification.
   */
  async isErasedExport(digest: string): Promise<boolean> {
    if (!this.#erasedExports.has(digest)) await this.#readErasedExports();
    return this.#erasedExports.has(digest);
  }

  async #tracesOf(seq: number): Promise<ReadonlyMap<string, number>> {
    const known = this.#events.get(seq);
    if (known !== undefined) return known;
    const [stored] = await inTenantTransaction(this.#pool, this.#tenantId, (tx) => readTraceEvents(tx, seq - 1, seq));
    const traces = droppedBy(stored && eventOf(stored, this.#tenantId));
    this.#remember(seq, traces);
    return traces;
  }

  #remember(seq: number, traces: ReadonlyMap<string, number>): void {
    if (this.#events.size >= EVENTS_MAX) this.#events.delete(this.#events.keys().next().value!);
    this.#events.set(seq, traces);
  }

  async #readErasedExports(): Promise<void> {
    for await (const event of readTraceLog(this.#pool, this.#tenantId, this.#lastRead, Number.MAX_SAFE_INTEGER)) {
      this.#lastRead = event.seq;
      if (event.action === 'traces.dropped') for (const digest of event.exports) this.#erasedExports.add(digest);
    }
  }
}

/** The traces that an event has dropped, each with its number of submissions. */
const droppedBy = (event: TraceLogEvent | undefined): ReadonlyMap<string, number> =>
  new Map(event?.action === 'traces.dropped' ? event.traces.map(({ id, submissions }) => [id, submissions]) : []);

/** Removes from a set the submissions that were dropped with these traces. Returns whether it removed any. */
function removeDropped(submissions: Set<TraceSubmission>, traces: ReadonlyMap<string, number>): boolean {
  const before = submissions.size;
  for (const each of submissions) if (each.number <= (traces.get(each.id) ?? 0)) submissions.delete(each);
  return submissions.size < before;
}

/** A stored event; undefined if it is malformed. The verification of the log reports such an event. */
function eventOf({ seq, document }: StoredTraceEvent, tenantId: string): TraceLogEvent | undefined {
  const read = readTraceEvent(parsedDocument(document), { seq, tenantId }, digests);
  return 'fault' in read ? undefined : read.event;
}

/**
 * Reads the stored events of the trace log after number `after`, up to and including `last`, in order. Malformed events are left out: the
 * verification of the log reports them.
 */
export async function* readTraceLog(pool: Pool, tenantId: string, after: number, last: number): AsyncGenerator<TraceLogEvent> {
  for (let read = after; read < last; ) {
    const page = await inTenantTransaction(pool, tenantId, (tx) => readTraceEvents(tx, read, last));
    if (page.length === 0) return;
    read = page.at(-1)!.seq;
    for (const row of page) {
      const event = eventOf(row, tenantId);
      if (event !== undefined) yield event;
    }
  }
}
