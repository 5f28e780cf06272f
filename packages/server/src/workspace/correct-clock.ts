import { CLOCK_CORRECTED, type ClockCorrection } from '@countersign/core/domain/clock-correction';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { appendEntries, entryOf } from '../ledger/append.ts';
import { appendEvidence, type NewFact } from '../ledger/evidence-log.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import { lockSealedHeads, moveSealedHead } from '../ledger/sealed-heads.ts';
import { withdrawApproved } from '../storage/approvals.ts';
import { type HeadToMove, LOG_NAMES, type LogName } from '../storage/log-heads.ts';
import { RuleViolationError } from './rule-violation.ts';

/** The correction that was written, or that would be written. */
export interface CorrectedClock {
  /** The database's clock, from which the times of the logs continue. */
  now: string;
  /** The logs whose times go back. Each has its size, its time before the correction, and the time from which it continues. */
  logs: ClockCorrection;
  /**
   * The number of approvals whose time in the evidence log is in the future. Promotion checks ignore them, so their evaluations become
   * pending again.
   */
  reopenedApprovals: number;
}

/**
 * Makes the times of a workspace's logs continue from the database's clock after a clock was ahead. One entry of the audit ledger names
 * each log that is ahead, with the size at which its times may go back. Verifiers accept a step back only there.
 * @param write false to return the correction without writing it.
 * @throws ClockUnsafeError while the clocks of the server and the database disagree, because the database's clock may be the wrong one.
 * @throws RuleViolationError if no log is ahead.
 */
export async function correctClock(pool: Pool, tenantId: string, { write }: { write: boolean }): Promise<CorrectedClock> {
  return inTenantTransaction(pool, tenantId, async (tx) => {
    const before = tx.clock.read();
    const heads = await lockSealedHeads(tx, LOG_NAMES);
    const now = heads.audit.clock;
    tx.clock.requireAgreement(before, now);
    const logs: ClockCorrection = {};
    for (const [log, head] of Object.entries(heads) as [LogName, HeadToMove][])
      if (head.now > now && head.now !== head.clock) logs[log] = { size: head.seq, before: head.now, after: now };
    if (Object.keys(logs).length === 0)
      throw new RuleViolationError('no log of this workspace is ahead of the clock, so there is nothing to correct');
    const withdrawals = await createWithdrawals(tx, heads.evidence, now);
    const reopenedApprovals = withdrawals.length;
    if (!write) return { now, logs, reopenedApprovals };
    const metadata = { logs, reopened_approvals: reopenedApprovals };
    const entry = entryOf({ recorded_by: 'operator', actor: 'operator', action: CLOCK_CORRECTED, metadata });
    appendEntries(tx, { ...heads.audit, now }, [entry]);
    for (const log of ['decisions', 'evidence', 'keys', 'traces'] as const)
      if (logs[log] !== undefined) moveSealedHead(tx, log, { ...heads[log], now });
    for (const { evaluation_id } of withdrawals) await withdrawApproved(tx, evaluation_id);
    appendEvidence(tx, { ...heads.evidence, now }, withdrawals);
    return { now, logs, reopenedApprovals };
  });
}

type Withdrawal = NewFact & { action: 'approval.withdrawn' };

/** Creates the events that withdraw the approvals whose time in the evidence log is in the future. */
async function createWithdrawals(tx: Transaction, head: HeadToMove, now: string): Promise<Withdrawal[]> {
  const approved = (await evidenceStates.atHead(tx, head)).approvedEvaluations();
  return approved
    .filter(({ approval }) => approval!.decidedAt > now.replace('Z', '000Z'))
    .map(({ agentId, id }) => ({
      action: 'approval.withdrawn',
      agent_id: agentId,
      evaluation_id: id,
      recorded_by: 'operator',
    }));
}
