import type { Transaction } from '../database/transaction.ts';
import { LogRewrittenError } from '../ledger/log-tree.ts';
import { findRecordedAct, type RecordedAct } from '../ledger/recorded-act.ts';
import { readSealedHead } from '../ledger/sealed-heads.ts';
import { findApproval } from '../storage/portal/approvals.ts';
import { findIncident, type IncidentListRow } from '../storage/portal/incidents.ts';

/*
 * The rows of approvals, incidents and re-certifications are not sealed. So the handlers of their pages compare the rows with the audit
 * ledger, which has the same facts.
 */

/** A value that a page shows, and the value in the entry of the audit ledger. */
type ComparedValue = readonly [what: string, shown: unknown, recorded: unknown];

/** How the stored approval of an evaluation differs from the audit ledger; null if it matches, or if nothing is decided yet. */
export const findApprovalFault = (tx: Transaction, evaluationId: string): Promise<string | null> =>
  confirmFault(async () => {
    const row = await findApproval(tx, evaluationId);
    if (row === undefined || row.status === 'pending') return null;
    const head = await readSealedHead(tx, 'audit');
    const act = await findRecordedAct(
      tx,
      head,
      ['approval.approved', 'approval.rejected', 'approval.withdrawn'],
      [`"evaluation_id":"${evaluationId}"`],
    );
    return faultOf(act, (entry) => [
      ['status', row.status, entry.action.slice('approval.'.length)],
      ['time of the decision', row.decided_at, entry.recorded_at],
      ['approver', row.decided_by, entry.recorded_by],
      ['rationale', row.rationale, entry.rationale],
    ]);
  });

/** How a stored incident and its re-certification differ from the audit ledger; null if they match. */
export const findIncidentFault = (tx: Transaction, incidentId: string): Promise<string | null> =>
  confirmFault(async () => {
    const row = await findIncident(tx, incidentId);
    if (row === undefined) return null;
    const head = await readSealedHead(tx, 'audit');
    const openingAct = await findRecordedAct(tx, head, ['incident.created'], [`"incident_id":"${incidentId}"`]);
    // The ID in the list `incident_ids`. After a colon it would be another member, for example the rationale.
    const closingAct = await findRecordedAct(tx, head, ['recertification.closed'], [`["${incidentId}"`, `,"${incidentId}"`]);
    return faultOf(openingAct, (entry) => openingOf(row, entry)) ?? closingFault(row, closingAct);
  });

const openingOf = (
  row: IncidentListRow,
  { recorded_at, recorded_by, rationale, agent_id, metadata }: RecordedAct,
): ComparedValue[] => [
  ['agent', row.agent.id, agent_id],
  ['severity', row.severity, metadata.severity],
  ['description', row.description, rationale],
  ['time', row.opened_at, recorded_at],
  ['person who opened it', row.opened_by, recorded_by],
  ['need for a re-certification', row.recertification !== 'none', metadata.recertification_required],
];

function closingFault(row: IncidentListRow, closingAct: RecordedAct | undefined): string | null {
  if (row.recertification !== 'closed')
    return closingAct === undefined
      ? null
      : `entry ${closingAct.seq} of the audit ledger closed the re-certification of this incident`;
  return faultOf(closingAct, ({ recorded_at, recorded_by, rationale, metadata }) => [
    ['time of the closing', row.closed_at, recorded_at],
    ['person who closed it', row.closed_by, recorded_by],
    ['closing rationale', row.closing_rationale, rationale],
    ['closing evaluation', row.closing_evaluation_id, metadata.evaluation_id],
  ]);
}

function faultOf(act: RecordedAct | undefined, compare: (act: RecordedAct) => readonly ComparedValue[]): string | null {
  if (act === undefined) return 'the audit ledger has no entry for the stored state';
  const differing = compare(act).find(([, shown, recorded]) => shown !== recorded);
  if (differing === undefined) return null;
  const [what, shown, recorded] = differing;
  return `the ${what} is ${JSON.stringify(shown)}, but entry ${act.seq} of the audit ledger says ${JSON.stringify(recorded)}`;
}

/** Repeats a comparison that finds a fault, because a person may act between its statements. A changed ledger is a fault too. */
async function confirmFault(compare: () => Promise<string | null>): Promise<string | null> {
  try {
    return (await compare()) === null ? null : await compare();
  } catch (error) {
    if (error instanceof LogRewrittenError) return error.message;
    throw error;
  }
}
