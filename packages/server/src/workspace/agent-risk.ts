import type { RiskLevel } from '@countersign/core/portal/agent-facts';
import type { Pool } from 'pg';
import { setAgentRisk } from '../storage/agents.ts';
import type { Actor } from './actor.ts';
import { evidenceAct } from './evidence-act.ts';
import { type AgentReference, checkReference } from './governance-act.ts';
import { requireText } from './wrong-input.ts';

/** Sets an agent's risk level. Returns false, and writes nothing, if the level is unchanged. */
export async function setRiskLevel(
  pool: Pool,
  tenantId: string,
  { agent: reference, level, rationale }: { agent: AgentReference; level: RiskLevel; rationale?: string | undefined },
  by: Actor,
): Promise<boolean> {
  checkReference(reference);
  if (rationale !== undefined) requireText('the rationale', rationale);
  return evidenceAct(pool, tenantId, by, async ({ tx, requireAgent, append, record }) => {
    const agent = requireAgent(reference);
    if (agent.riskLevel === level) return false;
    await setAgentRisk(tx, agent.id, level);
    append({ action: 'agent.risk_set', agent_id: agent.id, risk_level: level });
    record({ action: `agent.${level}_risk`, subject: agent.name, rationale: rationale ?? null, agent_id: agent.id });
    return true;
  });
}
