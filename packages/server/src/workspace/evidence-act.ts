import type { EvidenceFact } from '@countersign/core/domain/evidence-event';
import type { EvidenceState, KnownAgent } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEvidence } from '../ledger/evidence-log.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import { findRecordedEvaluation, type RecordedEvaluation } from '../ledger/recorded-evaluation.ts';
import { type Actor, actorName, requireCurrentRole } from './actor.ts';
import { type Act, type AgentReference, actAtHead, throwUnknownAgent } from './governance-act.ts';

/** The context of an action that changes the evidence of promotion checks. */
export interface EvidenceAct extends Act {
  /** The state of the evidence log before the action. It comes from the log and not from the tables, so changed rows do not affect it. */
  evidence: EvidenceState;
  /** The agent with a name or an ID. @throws NotFoundError if there is none. */
  requireAgent(reference: AgentReference): KnownAgent;
  /**
   * Finds in the log an evaluation that promotion checks cannot use. Such an evaluation is not in `evidence`.
   * @throws LogRewrittenError if its event was changed outside the server.
   */
  findUnusableEvaluation(evaluationId: string): Promise<RecordedEvaluation | undefined>;
  /** Appends the event of the action to the evidence log. Call it only once. */
  append(fact: EvidenceFact): void;
}

/** Runs one governance action with its entry in the audit ledger and its event in the evidence log, in one transaction. */
export async function evidenceAct<T>(
  pool: Pool,
  tenantId: string,
  by: Actor,
  work: (act: EvidenceAct) => Promise<T>,
): Promise<T> {
  return inTenantTransaction(pool, tenantId, async (tx) => {
    const heads = await lockLogs(tx, ['audit', 'evidence']);
    const now = heads.audit.now > heads.evidence.now ? heads.audit.now : heads.evidence.now;
    const evidence = await evidenceStates.atHead(tx, heads.evidence);
    await requireCurrentRole(tx, by);
    const name = actorName(by);
    return work({
      ...actAtHead(tx, name, { ...heads.audit, now }),
      evidence,
      requireAgent: (reference) =>
        (typeof reference === 'string' ? evidence.agentNamed(reference) : evidence.agent(reference.id)) ??
        throwUnknownAgent(reference),
      findUnusableEvaluation: (evaluationId) => findRecordedEvaluation(tx, heads.evidence, evaluationId),
      append: (fact) => void appendEvidence(tx, { ...heads.evidence, now }, [{ ...fact, recorded_by: name }]),
    });
  });
}
