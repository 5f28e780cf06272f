import type { SpanPage } from '@countersign/core/portal/run-routes';
import type { Transaction } from '../database/transaction.ts';
import type { ResponseMemory } from '../http/outgoing.ts';
import { listSpansWithRecords } from '../storage/portal/log-records.ts';
import { readDocuments } from '../storage/portal/run-details.ts';
import { listSpans, listSubmissionSizes, type SpanPlace, type StoredSpan, type SubmissionSize } from '../storage/portal/spans.ts';
import { cursorAfter } from './page.ts';
import { spanRows } from './run-documents.ts';
import { rowsWithRecords } from './run-log-records.ts';

const SPANS_MAX = 1000;
/** The largest number of bytes of documents that a page reads, unless one document is larger. */
const DOCUMENT_BYTES_MAX = 8 * 1024 * 1024;
/** The maximum number of submissions that a page reads. It may show only a few of their steps, because later submissions replace steps. */
const SUBMISSIONS_MAX = 1000;
/** The maximum bytes of the facts of steps (`spansText`) that a page reads, unless one submission has more. */
const SPAN_BYTES_MAX = 2 * 1024 * 1024;
/** The maximum bytes of the facts of steps that one statement reads, unless one submission has more: about 1,000 steps. */
const STATEMENT_BYTES_MAX = 128 * 1024;
/** Greater than the index of any step in its submission: the largest number in a cursor. */
const AFTER_LAST_STEP = 0x7fff_ffff;

/** The start of a page of a trace's steps, and the position of its first step. */
export interface SpanPageStart {
  after: SpanPlace | null;
  position: number;
}

/**
 * A page of a trace's merged steps. It may be empty and still have a next page. A submission that arrives between the requests for two
 * pages may move steps to later pages.
 */
export async function readSpanPage(
  tx: Transaction,
  trace: string,
  { after, position }: SpanPageStart,
  memory: ResponseMemory,
): Promise<SpanPage> {
  const sizes = await listSubmissionSizes(tx, trace, after?.submission ?? 0, SUBMISSIONS_MAX);
  const submissions = withinBytes(sizes, ({ span_bytes }) => span_bytes, SPAN_BYTES_MAX);
  const spans: StoredSpan[] = [];
  let end = after;
  while (submissions.length > 0 && spans.length <= SPANS_MAX) {
    const group = submissions.splice(0, withinBytes(submissions, ({ span_bytes }) => span_bytes, STATEMENT_BYTES_MAX).length);
    const last: SubmissionSize = group.at(-1)!;
    spans.push(...(await listSpans(tx, trace, end, last.number, SPANS_MAX + 1 - spans.length)));
    end = { submission: last.number, ordinal: AFTER_LAST_STEP };
    if (withinDocumentBytes(spans).length < spans.length) break;
  }
  const items = withinDocumentBytes(spans.slice(0, SPANS_MAX));
  const isCut = items.length < spans.length;
  const bytes = new Map(items.map(({ submission, document_bytes }) => [submission, document_bytes]));
  memory.reserve(sum(bytes.values()));
  const [documents, later, records] = await Promise.all([
    readDocuments(tx, trace, [...bytes.keys()]),
    isCut || end === null ? [] : listSubmissionSizes(tx, trace, end.submission + 1, 1),
    listSpansWithRecords(
      tx,
      trace,
      items.map(({ span_id }) => span_id),
    ),
  ]);
  if (isCut) end = items.at(-1)!;
  const next = end !== null && (isCut || later.length > 0) ? [end.submission, end.ordinal, position + items.length] : null;
  return {
    items: rowsWithRecords(spanRows(items, documents, position), records),
    next: next === null ? null : cursorAfter(next),
  };
}

/** The first steps whose submissions together have at most DOCUMENT_BYTES_MAX; at least the steps of one submission. */
function withinDocumentBytes(spans: StoredSpan[]): StoredSpan[] {
  const bytesOf = (span: StoredSpan, index: number) =>
    spans[index - 1]?.submission === span.submission ? 0 : span.document_bytes;
  return withinBytes(spans, bytesOf, DOCUMENT_BYTES_MAX);
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, each) => total + each, 0);

/** The first rows that together have at most `bytesMax` bytes. The first row with any bytes is always included, even if it is larger. */
export function withinBytes<R>(rows: R[], bytesOf: (row: R, index: number) => number, bytesMax: number): R[] {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    const before = bytes;
    bytes += bytesOf(row, index);
    return bytes > bytesMax && before > 0 && bytes > before;
  });
  return end === -1 ? rows : rows.slice(0, end);
}
