import type { Transaction } from '../database/transaction.ts';
import { findLoggedSubmissions, type LoggedSubmission } from '../ledger/logged-submissions.ts';
import { submissionName } from '../ledger/row-findings.ts';
import type { LockedTrace } from '../storage/due-traces.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';

/**
 * Compares rows of traces with the sealed trace log, because these rows decide which traces are deleted. Compares the trace_id of each
 * trace, and the number and time of each of its stored submissions. Without this check, a changed row could cause the deletion of a trace
 * of another run, or of a trace that is not due. The log would record this deletion as a regular one. Submissions that only the log has are
 * ignored, so that a damaged trace can still be deleted.
 * @returns what the log records about each submission, by `submissionName`.
 * @throws RuleViolationError if a row differs. The message names it.
 * @throws LogRewrittenError if the trace log was changed outside the server.
 */
export async function requireLoggedTraces(
  tx: Transaction,
  traces: readonly LockedTrace[],
): Promise<ReadonlyMap<string, LoggedSubmission>> {
  const rows = traces.flatMap(({ id, traceId, submissions }) => submissions.map((each) => ({ ...each, id, traceId })));
  const logged = await findLoggedSubmissions(tx, rows);
  for (const row of rows) {
    const name = submissionName(row.id, row.number);
    const fault = rowFault(row, logged.get(name));
    if (fault !== undefined) throw changedSubmission(name, fault);
  }
  return logged;
}

/** The error for a submission that differs from the trace log. @param name the result of `submissionName`. */
export const changedSubmission = (name: string, fault: string): RuleViolationError =>
  new RuleViolationError(
    `${name}: ${fault}: the database was changed outside the server; nothing was deleted. Correct the row, or find all changes with \`ledger verify --log traces\``,
  );

function rowFault(
  row: Pick<LoggedSubmission, 'traceId' | 'receivedAt'>,
  logged: LoggedSubmission | undefined,
): string | undefined {
  if (logged === undefined) return 'the trace log has no such submission';
  if (row.traceId !== logged.traceId)
    return `trace_id is ${JSON.stringify(row.traceId)}, the trace log says ${JSON.stringify(logged.traceId)}`;
  if (row.receivedAt !== logged.receivedAt) return `received_at is ${row.receivedAt}, the trace log says ${logged.receivedAt}`;
  return undefined;
}
