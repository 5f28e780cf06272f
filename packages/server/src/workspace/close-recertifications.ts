import type { Pool } from 'pg';
import type { Transaction } from '../database/transaction.ts';
import type { Agent } from '../storage/agents.ts';
import { findLatestEvaluation } from '../storage/evaluations.ts';
import { closeOpenRecertifications, lockOpenRecertifications } from '../storage/recertifications.ts';
import { governanceAct, requireAgent } from './governance-act.ts';
import type { ActingPerson } from './ingestion-keys.ts';
import { Refusal } from './refusal.ts';
import { requireLabel, requireText } from './wrong-input.ts';

/** What was closed, and on which evaluation. */
export interface ClosedRecertifications {
  incidentIds: string[];
  evaluationId: string;
}

/**
 * Closes all open re-certifications of an agent. That takes a passing evaluation, the agent's latest, recorded after each of the
 * incidents: one that began to fail since, or that was there before, certifies nothing.
 */
export async function closeRecertifications(
  pool: Pool,
  tenantId: string,
  { agent: name, rationale }: { agent: string; rationale: string },
  by: ActingPerson,
): Promise<ClosedRecertifications> {
  requireLabel('the agent', name);
  requireText('the rationale', rationale);
  return governanceAct(pool, tenantId, by, async ({ tx, now, record }) => {
    const agent = await requireAgent(tx, name);
    const incidentIds = await lockOpenRecertifications(tx, agent.id);
    if (incidentIds.length === 0)
      throw new Refusal(`agent ${JSON.stringify(name)} has no open re-certification; nothing to close`);
    const evaluationId = await requirePassingSince(tx, agent);
    await closeOpenRecertifications(tx, { agentId: agent.id, evaluationId, closedAt: now, closedBy: by, rationale });
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

async function requirePassingSince(tx: Transaction, agent: Agent): Promise<string> {
  const latest = await findLatestEvaluation(tx, agent.id);
  const remedy = 'record a passing evaluation now, then close';
  if (latest === undefined) throw new Refusal(`agent ${JSON.stringify(agent.name)} has no evaluation at all; ${remedy}`);
  const it = `the latest evaluation of ${JSON.stringify(agent.name)} (${latest.id}, ${latest.recordedAt})`;
  if (latest.status !== 'passing') throw new Refusal(`${it} is ${latest.status}, not passing; ${remedy}`);
  if (!latest.afterIncidents) throw new Refusal(`${it} was recorded before the incident was opened; ${remedy}`);
  return latest.id;
}
