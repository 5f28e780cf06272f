import type { Severity } from '@countersign/core/portal/incident-routes';
import type { Pool } from 'pg';
import { newId } from '../storage/new-id.ts';
import type { Actor } from './actor.ts';
import { type AgentReference, governanceAct, requireAgent, requireValidReference } from './governance-act.ts';
import { requireLabel, requireText } from './wrong-input.ts';

/** A policy violation as reported. */
export interface ReportedViolation {
  agent: AgentReference;
  policy: string;
  severity: Severity;
  description: string;
  /** The run in which it happened; null if none is named. */
  traceId: string | null;
}

/** Records a policy violation of an agent in the ledger and returns its ID. */
export async function recordViolation(
  pool: Pool,
  tenantId: string,
  { agent: reference, policy, severity, description, traceId }: ReportedViolation,
  by: Actor,
): Promise<string> {
  requireValidReference(reference);
  requireLabel('the policy', policy);
  requireText('the description', description);
  if (traceId !== null) requireLabel('the run', traceId);
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const agent = await requireAgent(tx, reference);
    const id = newId();
    record({
      action: 'policy.violation',
      subject: agent.name,
      rationale: description,
      agent_id: agent.id,
      trace_id: traceId,
      metadata: { violation_id: id, policy, severity },
    });
    return id;
  });
}
