import type { Pool } from 'pg';
import { setAgentRisk } from '../storage/agents.ts';
import { governanceAct, requireAgent } from './governance-act.ts';
import type { ActingPerson } from './ingestion-keys.ts';
import { requireLabel } from './wrong-input.ts';

/** The levels; a high-risk agent is promoted only when a person has approved the evaluation. */
export const RISK_LEVELS = ['low', 'high'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** Sets an agent's risk level. Returns false, and writes nothing, when it was that already. */
export async function setRiskLevel(
  pool: Pool,
  tenantId: string,
  { agent: name, level }: { agent: string; level: RiskLevel },
  by: ActingPerson,
): Promise<boolean> {
  requireLabel('the agent', name);
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const agent = await requireAgent(tx, name);
    if (!(await setAgentRisk(tx, agent.id, level))) return false;
    await record({ action: `agent.${level}_risk`, subject: agent.name, agent_id: agent.id });
    return true;
  });
}
