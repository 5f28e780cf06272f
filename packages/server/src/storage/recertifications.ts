import { sql, type Transaction } from '../database/transaction.ts';

const OPEN = sql(
  'open_recertification',
  `INSERT INTO countersign.recertifications (tenant_id, incident_id, agent_id, opened_at, opened_seq)
   SELECT tenant_id, id, agent_id, opened_at, seq FROM countersign.incidents WHERE tenant_id = $1 AND id = $2`,
);

/** Opens the re-certification of an incident. `closingObstacle` (workspace/close-recertifications.ts) says when a person can close it. */
export const openRecertification = (tx: Transaction, incidentId: string): Promise<unknown> =>
  tx.run(OPEN, [tx.tenantId, incidentId]);

/** Who closes the open re-certifications of an agent, when and why, and the evaluation that permits it. */
export interface RecertificationClosure {
  agentId: string;
  evaluationId: string;
  closedAt: string;
  closedBy: string;
  rationale: string;
}

const CLOSE = sql(
  'close_recertifications',
  `UPDATE countersign.recertifications SET closed_at = $4::timestamptz, closed_by = $5, rationale = $6, evaluation_id = $3
    WHERE tenant_id = $1 AND agent_id = $2 AND closed_at IS NULL`,
);

/** Closes all open re-certifications of the agent. The caller has locked the head of the evidence log. */
export const closeOpenRecertifications = (tx: Transaction, closure: RecertificationClosure): Promise<unknown> =>
  tx.run(CLOSE, [tx.tenantId, closure.agentId, closure.evaluationId, closure.closedAt, closure.closedBy, closure.rationale]);
