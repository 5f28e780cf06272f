import type { ChainReport, DroppedTraces } from '@countersign/core/domain/chain-report';
import type { RowTimes } from '@countersign/core/domain/clock-correction';
import {
  readTraceEvent,
  type TraceDropEvent,
  type TraceEvent,
  type TraceLogEvent,
  type TraceSubmission,
} from '@countersign/core/domain/trace-event';
import type { Pool } from 'pg';
import { inSnapshotTransaction, inTenantTransaction } from '../database/transaction.ts';
import { findStoredTraces } from '../storage/dropped-traces.ts';
import { LOWEST_ID } from '../storage/id-range.ts';
import { readTraceEvents, type StoredTraceEvent } from '../storage/trace-events.ts';
import {
  countSubmissions,
  listSubmissionPlaces,
  readSubmissionFacts,
  type SubmissionFacts,
  type SubmissionPlace,
} from '../storage/trace-rows.ts';
import { DroppedSubmissions, readTraceLog } from './dropped-submissions.ts';
import { findAgentsNamedUpTo, isNamedAgent } from './named-agents.ts';
import {
  differenceReason,
  FINDINGS_PER_WORKSPACE_MAX,
  submissionName,
  tableSource,
  UNREADABLE_DOCUMENT,
} from './row-findings.ts';
import { readStoredEvent } from './stored-event.ts';
import { type ColumnFinding, compareTraceColumns } from './trace-columns.ts';
import { type RowCheck, type WalkOptions, walkLog } from './walk-log.ts';

/** A row that differs from the trace log. */
export interface TraceFinding {
  table: ColumnFinding['table'];
  /** The trace's `id`, or the result of `submissionName`. A fault of the table `traces` may name the submission that shows it. */
  id: string;
  /** What is wrong with it. */
  fault: string;
}

/** The result of verifying a trace log and comparing the rows with it. */
export interface TraceReport extends ChainReport {
  /** Rows that differ from the log, at most FINDINGS_PER_WORKSPACE_MAX. */
  findings: readonly TraceFinding[];
}

/**
 * Verifies a tenant's trace log in the database: hash and time of each event, gaps, head, tree and checkpoints. Meanwhile it compares
 * the events with the stored submissions. If the log is valid, it then looks for submissions that no event contains, and compares the
 * columns with the documents.
 */
export async function verifyTraces(pool: Pool, tenantId: string, options: WalkOptions = {}): Promise<TraceReport> {
  const findings: TraceFinding[] = [];
  const drops = new DroppedSubmissions(pool, tenantId);
  let loggedCount = 0;
  let dropped: DroppedTraces | undefined;
  const check = (row: StoredTraceEvent, seq: number, times: RowTimes): RowCheck | Promise<RowCheck> => {
    const read = readStoredEvent(row, { seq, tenantId }, readTraceEvent);
    if ('fault' in read) return read;
    const fault = times.next(seq, read.event.recorded_at, 'recorded_at');
    if (fault !== undefined) return { fault };
    const { event } = read;
    loggedCount += submissionsAdded(event);
    if (event.action === 'traces.dropped')
      dropped = { traces: (dropped?.traces ?? 0) + event.traces.length, lastAt: event.recorded_at };
    if (findings.length >= FINDINGS_PER_WORKSPACE_MAX) return { hash: row.event_hash };
    const compared = event.action === 'traces.dropped' ? compareDropped(pool, event) : compareRows(pool, drops, event);
    return compared.then((found) => {
      findings.push(...found);
      return { hash: row.event_hash };
    });
  };
  const walkReport = await walkLog(pool, tenantId, { log: 'traces', isChained: true, read: readTraceEvents, check }, options);
  const report: ChainReport = dropped === undefined ? walkReport : { ...walkReport, dropped };
  // The rows cannot be compared with an invalid log.
  if (report.firstBad !== undefined || report.contradiction !== undefined)
    return { ...report, findings: findings.slice(0, FINDINGS_PER_WORKSPACE_MAX) };
  if (findings.length < FINDINGS_PER_WORKSPACE_MAX)
    findings.push(...(await findAddedRows(pool, tenantId, report.entries, loggedCount)));
  if (findings.length < FINDINGS_PER_WORKSPACE_MAX) await addColumnFindings(pool, tenantId, findings, options.pause);
  const reported = findings.slice(0, FINDINGS_PER_WORKSPACE_MAX);
  const [first] = reported;
  if (first === undefined) return { ...report, findings: reported };
  const reason = differenceReason(first, findings.length);
  return { ...report, findings: reported, contradiction: { source: tableSource(first.table), size: report.entries, reason } };
}

/** Adds a finding for each row that differs from its document, except for rows of traces that already have a finding. */
async function addColumnFindings(
  pool: Pool,
  tenantId: string,
  findings: TraceFinding[],
  pause: WalkOptions['pause'],
): Promise<void> {
  const reported = new Set(findings.map(({ id }) => traceOf(id)));
  for await (const found of compareTraceColumns(pool, tenantId)) {
    findings.push(...found.filter(({ id }) => !reported.has(traceOf(id))));
    if (findings.length >= FINDINGS_PER_WORKSPACE_MAX) return;
    await pause?.();
  }
}

/** The trace's `id` in the name of a row. */
const traceOf = (name: string): string => name.split(',', 1)[0]!;

const nameOf = ({ id, number }: SubmissionPlace): string => submissionName(id, number);

/** The number of submissions that an event adds. It is negative for an event of dropped traces. */
const submissionsAdded = (event: TraceLogEvent): number =>
  event.action === 'traces.dropped'
    ? -event.traces.reduce((sum, { submissions }) => sum + submissions, 0)
    : event.submissions.length;

/** Finds the traces that still have rows although an event records that they were dropped. */
async function compareDropped(pool: Pool, { tenant_id, traces }: TraceDropEvent): Promise<TraceFinding[]> {
  const ids = traces.map(({ id }) => id);
  const stored = await inTenantTransaction(pool, tenant_id, (tx) => findStoredTraces(tx, ids));
  const fault = 'the log says that it was dropped, so the row was added outside the server';
  return stored.map(({ trace, table }) => ({ table, id: trace, fault }));
}

/** Finds the submissions of an event whose rows differ from the event. A row may be absent if a later event dropped it. */
async function compareRows(pool: Pool, drops: DroppedSubmissions, event: TraceEvent): Promise<TraceFinding[]> {
  // All statements see one state of the database, so a row and its document cannot be dropped between two statements.
  const rows = await inSnapshotTransaction(pool, event.tenant_id, (tx) => readSubmissionFacts(tx, event.submissions));
  const byName = new Map(rows.map((row) => [nameOf(row), row]));
  const missing = event.submissions.filter((logged) => !byName.has(nameOf(logged)));
  const dropped = missing.length === 0 ? undefined : await drops.find(missing, event.seq);
  const findings: TraceFinding[] = [];
  const reading = { pool, drops, tenantId: event.tenant_id, recordedIn: event.seq };
  for (const logged of event.submissions) {
    if (dropped?.has(logged) === true) continue;
    const row = await withErasedExport(drops, logged, byName.get(nameOf(logged)));
    const found = rowFault(logged, event.received_at, row) ?? (await findEarlierAgentFault(reading, logged, row!));
    if (found !== undefined) findings.push({ ...found, id: nameOf(logged) });
  }
  return findings;
}

/**
 * Returns the row of a submission. Its export may have been erased with another run, which is not a fault. In that case the returned row
 * has the digest from the log.
 */
async function withErasedExport(
  drops: DroppedSubmissions,
  logged: TraceSubmission,
  row: SubmissionFacts | undefined,
): Promise<SubmissionFacts | undefined> {
  if (row === undefined || logged.export_sha256 === null || row.exportSha256 !== null) return row;
  return (await drops.isErasedExport(logged.export_sha256)) ? { ...row, exportSha256: logged.export_sha256 } : row;
}

/**
 * The fault of a submission's agent in the log; undefined if there is none. A later submission may have changed the agent of the trace. In
 * that case the documents up to this submission are read, and they must name the agent in the log (`isNamedAgent`).
 */
async function findEarlierAgentFault(
  { pool, drops, tenantId, recordedIn }: { pool: Pool; drops: DroppedSubmissions; tenantId: string; recordedIn: number },
  logged: TraceSubmission,
  row: SubmissionFacts,
): Promise<Omit<TraceFinding, 'id'> | undefined> {
  if (logged.agent_id === row.agentId) return undefined;
  if (isNamedAgent(logged.agent_id, await findAgentsNamedUpTo(pool, tenantId, logged))) return undefined;
  // The trace may have been dropped, with its documents, since its row was read.
  if ((await drops.find([logged], recordedIn)).has(logged)) return undefined;
  return {
    table: 'traces',
    fault:
      `the log says that agent_id was ${logged.agent_id} when this submission was stored; ` +
      'the documents up to this submission do not say so',
  };
}

function rowFault(
  logged: TraceSubmission,
  receivedAt: string,
  row: SubmissionFacts | undefined,
): Omit<TraceFinding, 'id'> | undefined {
  const table = 'trace_submissions';
  if (row === undefined) return { table, fault: 'the row is gone' };
  if (row.documentSha256 === null) return { table, fault: UNREADABLE_DOCUMENT };
  if (row.documentSha256 !== logged.document_sha256) return { table, fault: 'its document is not the one that was stored' };
  if (row.exportSha256 !== logged.export_sha256)
    return { table, fault: 'the export that it was mapped from is gone, or is not the one that was stored' };
  if (row.recordedBy !== logged.recorded_by)
    return { table, fault: `recorded_by is ${row.recordedBy}, the log says ${logged.recorded_by}` };
  if (row.receivedAt !== receivedAt.replace('Z', '000Z'))
    return { table, fault: `received_at is ${row.receivedAt}, the log says ${receivedAt}` };
  if (row.traceId !== logged.trace_id)
    return { table: 'traces', fault: row.traceId === null ? 'the row is gone' : 'trace_id is not what the log says' };
  // A later submission may set the agent of the trace, or replace it by an agent with a higher rank: see findEarlierAgentFault.
  if (row.submissionCount === logged.number && row.agentId !== logged.agent_id)
    return { table: 'traces', fault: `agent_id is ${row.agentId}, the log says ${logged.agent_id}` };
  return row.submissionCount! < logged.number
    ? { table: 'traces', fault: `submission_count is ${row.submissionCount}, the log has submission ${logged.number}` }
    : undefined;
}

/**
 * Finds stored submissions that no event contains. Searches only if there are more rows than submissions in the log.
 * @param eventCount the number of verified events.
 * @param loggedCount the number of submissions that these events add, minus the number that they drop.
 */
async function findAddedRows(pool: Pool, tenantId: string, eventCount: number, loggedCount: number): Promise<TraceFinding[]> {
  const { rows, seq } = await inTenantTransaction(pool, tenantId, countSubmissions);
  let expected = loggedCount;
  for await (const event of readTraceLog(pool, tenantId, eventCount, seq)) expected += submissionsAdded(event);
  if (rows <= expected) return [];
  const known = new Set<string>();
  for await (const event of readTraceLog(pool, tenantId, 0, seq))
    for (const each of submissionsOf(event)) known.add(nameOf(each));
  const found: TraceFinding[] = [];
  let after: SubmissionPlace = { id: LOWEST_ID, number: 0 };
  while (found.length < FINDINGS_PER_WORKSPACE_MAX) {
    const page = await inTenantTransaction(pool, tenantId, (tx) => listSubmissionPlaces(tx, after));
    if (page.length === 0) break;
    after = page.at(-1)!;
    for (const place of page)
      if (!known.has(nameOf(place)) && (await isAdded(pool, tenantId, seq, place)))
        found.push({
          table: 'trace_submissions',
          id: nameOf(place),
          fault: 'the log has no such submission, so the row was added outside the server',
        });
  }
  return found;
}

/** Whether the submission is also missing from the events appended after `seq`. */
async function isAdded(pool: Pool, tenantId: string, seq: number, place: SubmissionPlace): Promise<boolean> {
  const { seq: lastSeq } = await inTenantTransaction(pool, tenantId, countSubmissions);
  for await (const event of readTraceLog(pool, tenantId, seq, lastSeq))
    if (submissionsOf(event).some((each) => each.id === place.id && each.number === place.number)) return false;
  return true;
}

const submissionsOf = (event: TraceLogEvent): readonly TraceSubmission[] =>
  event.action === 'traces.recorded' ? event.submissions : [];
