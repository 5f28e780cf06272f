import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEntries, entryOf } from '../ledger/append.ts';
import { appendDropEvent } from '../ledger/trace-log.ts';
import { readClock } from '../storage/clock.ts';
import { readDocumentsOf, type StoredDocument } from '../storage/document-segments.ts';
import { allowDropping, insertDroppedTraces, lockRetention, mayDrop } from '../storage/dropped-traces.ts';
import { deleteExports, lockExportsToErase } from '../storage/due-exports.ts';
import { deleteTelemetry, deleteTelemetryOfRun, lockTelemetryOfRun, replaceTelemetryDocument } from '../storage/due-telemetry.ts';
import { deleteTraces, lockTraceToErase } from '../storage/due-traces.ts';
import { deleteExportRuns, findExportsOfRun } from '../storage/export-runs.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
import { isAnyRunHeld } from '../storage/run-holds.ts';
import { blankRunIds, removeRunIds } from '../storage/run-id-segments.ts';
import { NotFoundError, RuleViolationError } from '../workspace/rule-violation.ts';
import { requireLabel, requireText } from '../workspace/wrong-input.ts';
import { lockHeadsUnlessHeld, RunHeldError } from './lock-heads.ts';
import { MayNotDropError } from './may-not-drop-error.ts';
import { namesRun } from './names-run.ts';
import { documentsOf, removeDocuments } from './remove-documents.ts';
import { requireLoggedTraces } from './require-logged-traces.ts';
import { findUnindexedExports } from './unindexed-exports.ts';
import { withoutEvents } from './without-events.ts';

/** The erased parts of a run. */
export interface ErasedRun {
  /** The ID of the trace; null if no trace of the run was stored. */
  trace: string | null;
  /** The number of its submissions. */
  submissions: number;
  telemetryEvents: number;
  /** The number of erased OpenTelemetry exports. They contained parts of the run and were still stored. */
  exports: number;
}

/** What to erase, and why. */
export interface ErasureRequest {
  /** The trace_id that the sender gave the run. */
  traceId: string;
  /** The reason, for the audit ledger. */
  rationale: string;
  /** Whether to erase the run even if an evaluation, an incident or an audit entry with a retention date names it. */
  evenIfHeld: boolean;
}

/**
 * Erases a run: its trace with all documents, log records and OpenTelemetry exports, and its telemetry events. The logs keep the digests,
 * and an entry of the audit ledger records the erasure.
 * @param pool connects as the role that owns the tables.
 * @throws MayNotDropError for another role.
 * @throws NotFoundError if no record of the run is stored.
 * @throws InvalidInputError if the trace_id or the rationale is malformed.
 * @throws LogRewrittenError if the trace log was changed outside the server.
 * @throws RuleViolationError if a row or a document of the trace differs from the trace log, or if a row names an export that has no part
 *   of this run. Also if the trace has no submissions, if a document of the run cannot be read, or if the run must be kept (`isHeld` in
 *   storage/run-holds.ts) and `evenIfHeld` is not set.
 */
export async function eraseRun(
  pool: Pool,
  tenantId: string,
  { traceId, rationale, evenIfHeld }: ErasureRequest,
): Promise<ErasedRun> {
  requireLabel('the run', traceId);
  requireText('the rationale', rationale);
  const unindexed = await findUnindexedExports(pool, tenantId, traceId);
  return inTenantTransaction(pool, tenantId, async (tx) => {
    if (!(await mayDrop(tx))) throw new MayNotDropError();
    lockRetention(tx);
    const trace = await lockTraceToErase(tx, traceId);
    const loggedSubmissions = await requireLoggedTraces(tx, trace === undefined ? [] : [trace]);
    const id = trace?.id;
    const today = (await readClock(tx)).slice(0, 10);
    if (!evenIfHeld && (await isAnyRunHeld(tx, [traceId], today))) throw new RunHeldError();
    allowDropping(tx);
    const telemetry = await eraseTelemetry(tx, traceId);
    const { submissions, logExports } = await deleteTraces(tx, { ids: id === undefined ? [] : [id], traceIds: [traceId] });
    if (id !== undefined && submissions.length === 0) throw new RuleViolationError(NO_SUBMISSIONS);
    const exportIds = new Set([
      ...logExports,
      ...submissions.flatMap((each) => each.export ?? []),
      ...(await findExportsOfRun(tx, traceId)),
      ...unindexed,
    ]);
    const exports = await eraseExports(tx, traceId, [...exportIds]);
    if (id === undefined && telemetry.events === 0 && exportIds.size === 0)
      throw new NotFoundError(`this workspace has no run with the trace_id ${JSON.stringify(traceId)}`);
    const unreadable = await removeDocuments(tx, [
      ...documentsOf(submissions, loggedSubmissions),
      ...exports.documents,
      ...telemetry.documents,
    ]);
    if (unreadable.length > 0) throw new RuleViolationError(UNREADABLE);
    if (id !== undefined) await removeRunIds(tx, 'trace', [id]);
    const erased: ErasedRun = {
      trace: id ?? null,
      submissions: submissions.length,
      telemetryEvents: telemetry.events,
      // Records of the run can name exports that were erased with another run.
      exports: exports.documents.length,
    };
    const heads = evenIfHeld
      ? await lockLogs(tx, ['audit', 'traces'])
      : await lockHeadsUnlessHeld(tx, ['audit', 'traces'], [traceId], today);
    record(tx, heads, { erased, exports: exports.shared, rationale });
    return erased;
  });
}

/** Appends the event of the trace log, if there was a trace, and the entry of the audit ledger. */
function record(
  tx: Transaction,
  heads: Record<'audit' | 'traces', HeadToMove>,
  { erased, exports, rationale }: { erased: ErasedRun; exports: readonly string[]; rationale: string },
): void {
  const { trace, submissions, telemetryEvents: telemetry_events } = erased;
  let seq: number | null = null;
  if (trace !== null) {
    seq = appendDropEvent(tx, heads.traces, { reason: 'erasure', traces: [{ id: trace, submissions }], exports });
    insertDroppedTraces(tx, [trace], seq);
  }
  const metadata = { trace, submissions, telemetry_events, exports: erased.exports, traces_log_seq: seq };
  appendEntries(tx, heads.audit, [
    entryOf({ recorded_by: 'operator', actor: 'operator', action: 'run.erased', subject: trace, rationale, metadata }),
  ]);
}

const NO_SUBMISSIONS =
  'no submission of this trace is stored: the database was changed outside the server; nothing was erased. Find the changes with `ledger verify --log traces`';

const foreignExport = (id: string): string =>
  `the export ${id} has no part of this run, but a row of trace_submissions, log_records or export_runs links it to this run: the database was changed outside the server; nothing was erased. Correct this row, and erase the run again`;

const UNREADABLE =
  'a stored document of this run cannot be read: the database was changed outside the server; nothing was erased. If the document belongs to a trace, `ledger verify --log traces` finds its row';

/** The number of exports whose bodies are in memory at once. A body has up to 20 MiB by default. */
const EXPORTS_AT_ONCE = 4;

/**
 * Deletes exports with parts of the run. Returns their documents, and the digests of the shared exports, from which stored submissions of
 * other traces were also mapped. The rows that name the exports are in no log and could have been changed. So each body must contain the
 * trace_id.
 */
async function eraseExports(
  tx: Transaction,
  traceId: string,
  ids: readonly string[],
): Promise<{ documents: StoredDocument[]; shared: string[] }> {
  const documents = await lockExportsToErase(tx, ids);
  const shared: string[] = [];
  for (let at = 0; at < documents.length; at += EXPORTS_AT_ONCE) {
    const batch = documents.slice(at, at + EXPORTS_AT_ONCE);
    const bodies = await readDocumentsOf(tx, batch);
    batch.forEach((each, index) => {
      const body = bodies[index];
      if (body === undefined) throw new RuleViolationError(UNREADABLE);
      if (!namesRun(body, each, traceId)) throw new RuleViolationError(foreignExport(each.id));
      if (each.isShared) shared.push(hash('sha256', body, 'hex'));
    });
  }
  deleteExports(tx, ids);
  deleteExportRuns(tx, ids);
  return { documents, shared: shared.sort() };
}

/**
 * Deletes the telemetry events of the run. A request without events of other runs is deleted. In the document of any other request, null
 * replaces the events of the run.
 */
async function eraseTelemetry(tx: Transaction, traceId: string): Promise<{ documents: StoredDocument[]; events: number }> {
  const requests = await lockTelemetryOfRun(tx, traceId);
  const shared = requests.filter(({ hasOthers }) => hasOthers);
  const bodies = await readDocumentsOf(tx, shared);
  shared.forEach(({ id, ordinals }, index) => {
    const body = bodies[index];
    if (body === undefined) throw new RuleViolationError(UNREADABLE);
    replaceTelemetryDocument(tx, id, withoutEvents(body.toString(), ordinals));
  });
  // One after the other, because a segment of the index can contain both shared and unshared requests.
  await blankRunIds(tx, shared);
  const unsharedIds = requests.filter(({ hasOthers }) => !hasOthers).map(({ id }) => id);
  await removeRunIds(tx, 'telemetry', unsharedIds);
  const { traceIds } = await deleteTelemetry(tx, unsharedIds);
  const eventsInShared = await deleteTelemetryOfRun(
    tx,
    traceId,
    shared.map(({ id }) => id),
  );
  return { documents: requests, events: traceIds.length + eventsInShared };
}
