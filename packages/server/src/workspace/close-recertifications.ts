import type { Pool } from 'pg';
import { findLatestEvaluation, type LatestEvaluation } from '../storage/evaluations.ts';
import { closeOpenRecertifications, lockOpenRecertifications } from '../storage/recertifications.ts';
import type { Actor } from './actor.ts';
import { type AgentReference, checkReference, governanceAct, requireAgent } from './governance-act.ts';
import { Refusal } from './refusal.ts';
import { requireText } from './wrong-input.ts';

/** What was closed, and on which evaluation. */
export interface ClosedRecertifications {
  incidentIds: string[];
  evaluationId: string;
}

/**
 * Closes all open re-certifications of an agent. That takes a passing evaluation, the agent's latest, run and recorded after each of the
 * incidents: one that began to fail since, or that was there before, certifies nothing.
 */
export async function closeRecertifications(
  pool: Pool,
  tenantId: string,
  { agent: reference, rationale }: { agent: AgentReference; rationale: string },
  by: Actor,
): Promise<ClosedRecertifications> {
  checkReference(reference);
  requireText('the rationale', rationale);
  return governanceAct(pool, tenantId, by, async ({ tx, now, by: closedBy, record }) => {
    const agent = await requireAgent(tx, reference);
    const incidentIds = await lockOpenRecertifications(tx, agent.id);
    if (incidentIds.length === 0)
      throw new Refusal(`agent ${JSON.stringify(agent.name)} has no open re-certification; nothing to close`);
    const latest = await findLatestEvaluation(tx, agent.id);
    const obstacle = closingObstacle(agent.name, latest);
    if (latest === undefined || obstacle !== undefined) throw new Refusal(obstacle);
    const evaluationId = latest.id;
    await closeOpenRecertifications(tx, { agentId: agent.id, evaluationId, closedAt: now, closedBy, rationale });
    await record({
      action: 'recertification.closed',
      subject: agent.name,
      rationale,
      agent_id: agent.id,
      metadata: { incident_ids: incidentIds, evaluation_id: evaluationId },
    });
    return { incidentIds, evaluationId };
  });
}

/** Why an agent's open re-certifications cannot be closed on its latest evaluation, with the remedy; undefined when they can. */
export function closingObstacle(agentName: string, latest: LatestEvaluation | undefined): string | undefined {
  const remedy = 'record a passing evaluation now, then close';
  if (latest === undefined) return `agent ${JSON.stringify(agentName)} has no evaluation at all; ${remedy}`;
  const it = `the latest evaluation of ${JSON.stringify(agentName)} (${latest.id}, ${latest.recordedAt})`;
  if (latest.status !== 'passing') return `${it} is ${latest.status}, not passing; ${remedy}`;
  if (!latest.afterIncidents) {
    const what = latest.evaluatedAt === null ? 'was recorded' : `, run at ${latest.evaluatedAt}, was run or recorded`;
    return `${it} ${what} before the incident was opened; ${remedy}`;
  }
  if (latest.inFuture) return `${it} has a time in the future: a clock was wrong; check the clock, ${remedy}`;
  return undefined;
}
