import { hash } from 'node:crypto';
import { TRACE_DOMAIN, type TraceLogEvent } from '@countersign/core/domain/trace-event';
import type { Transaction } from '../database/transaction.ts';
import type { ReadHead } from '../storage/log-heads.ts';
import { readTraceEvents } from '../storage/trace-events.ts';
import type { SubmissionPlace } from '../storage/trace-rows.ts';
import { isExtension, LogRewrittenError, openFrontier, readStoredTree } from './log-tree.ts';
import { submissionName } from './row-findings.ts';
import { readSealedHead } from './sealed-heads.ts';
import { parsedDocument } from './stored-document.ts';

/** A stored submission, with the time in its row: UTC with microseconds. The row is untrusted. */
export interface TimedSubmission extends SubmissionPlace {
  receivedAt: string;
}

/** What the trace log says about a submission. */
export interface LoggedSubmission {
  traceId: string;
  /** UTC with microseconds, of which the last three digits are zeros. */
  receivedAt: string;
  /** SHA-256 of the stored document, 64 hex digits. */
  documentSha256: string;
}

/** The number of events that are read first. Each further page has twice as many. */
const FIRST_PAGE_EVENTS = 8;

/**
 * Finds submissions in the sealed trace log. It reads the events from the time in the row of a submission until it finds the submission. If
 * the submission is not found, the row was changed or a clock was wrong. In that case, the earlier events are read too.
 * @returns the submissions by `submissionName`. The search ends at the first submission that the log does not have.
 * @throws LogRewrittenError if the events that were read do not match the sealed head.
 */
export async function findLoggedSubmissions(
  tx: Transaction,
  submissions: readonly TimedSubmission[],
): Promise<ReadonlyMap<string, LoggedSubmission>> {
  const head = await readSealedHead(tx, 'traces');
  const missing = new Set(submissions.map(nameOf));
  const found = new Map<string, LoggedSubmission>();
  const note = (event: TraceLogEvent) => {
    if (event.action !== 'traces.recorded') return;
    for (const logged of event.submissions) {
      const name = nameOf(logged);
      const { trace_id: traceId, document_sha256: documentSha256 } = logged;
      if (missing.delete(name)) found.set(name, { traceId, receivedAt: event.received_at.replace('Z', '000Z'), documentSha256 });
    }
  };
  const inOrder = [...submissions].sort((one, other) => (one.receivedAt < other.receivedAt ? -1 : 1));
  for (const submission of inOrder) {
    const isFound = () => !missing.has(nameOf(submission));
    if (isFound()) continue;
    const first = await findFirstSeqAt(tx, head, submission.receivedAt);
    await readEvents(tx, head, { after: first - 1, last: head.seq, note, isDone: isFound });
    if (!isFound()) await readEvents(tx, head, { after: 0, last: first - 1, note, isDone: isFound });
    if (!isFound()) break;
  }
  return found;
}

const nameOf = ({ id, number }: SubmissionPlace): string => submissionName(id, number);

/** Finds the number of the first event at this time or later, by a binary search. Returns `head.seq + 1` if there is none. */
async function findFirstSeqAt(tx: Transaction, head: ReadHead, time: string): Promise<number> {
  let [low, high] = [1, head.seq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await readTraceEvents(tx, middle - 1, middle);
    if (row === undefined) throw rewrittenError(tx, `event ${middle} is gone`);
    const recordedAt = String(parsedDocument(row.document)?.recorded_at).replace('Z', '000Z');
    if (recordedAt < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The events to read: those after number `after`, up to and including `last`, until `isDone` returns true. `note` is called with each. */
interface EventRange {
  after: number;
  last: number;
  note: (event: TraceLogEvent) => void;
  isDone: () => boolean;
}

/** Reads events in order, and compares the tree over them with the sealed head. */
async function readEvents(tx: Transaction, head: ReadHead, { after, last, note, isDone }: EventRange): Promise<void> {
  if (after >= last) return;
  const tree = await readStoredTree(tx, 'traces', after);
  for (let count = FIRST_PAGE_EVENTS; tree.size < last && !isDone(); count *= 2) {
    const page = await readTraceEvents(tx, tree.size, Math.min(last, tree.size + count));
    if (page.length === 0) throw rewrittenError(tx, `event ${tree.size + 1} is gone`);
    for (const row of page) {
      tree.append(hash('sha256', TRACE_DOMAIN + row.document, 'buffer'));
      const event = parsedDocument(row.document);
      if (event === undefined) throw rewrittenError(tx, `event ${row.seq} is not a JSON object`);
      note(event as unknown as TraceLogEvent);
    }
  }
  const whole = { size: head.seq, root: openFrontier(head.tree).root() };
  if (!(await isExtension(tx, 'traces', { size: tree.size, root: tree.root() }, whole)))
    throw rewrittenError(
      tx,
      `the events ${after + 1} to ${tree.size} do not match the sealed head, which covers ${head.seq} events`,
    );
}

const rewrittenError = (tx: Transaction, fault: string): LogRewrittenError =>
  new LogRewrittenError(`the log traces of tenant ${tx.tenantId}: ${fault}`);
