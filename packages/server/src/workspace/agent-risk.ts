import type { RiskLevel } from '@countersign/core/portal/agent-facts';
import type { Pool } from 'pg';
import { setAgentRisk } from '../storage/agents.ts';
import type { Actor } from './actor.ts';
import { evidenceAct } from './evidence-act.ts';
import { type AgentReference, requireSeenName, requireValidReference } from './governance-act.ts';
import { requireText } from './wrong-input.ts';

/** A new risk level. `seenName` is the name that the person saw; the command line, which shows nothing, omits it. */
interface RiskChange {
  agent: AgentReference;
  level: RiskLevel;
  rationale?: string | undefined;
  seenName?: string | undefined;
}

/**
 * Sets an agent's risk level. Returns false, and writes nothing, if the level is unchanged.
 * @throws NotFoundError for an unknown agent.
 * @throws RuleViolationError if the person saw another name than the evidence log has (`seenName`).
 */
export async function setRiskLevel(
  pool: Pool,
  tenantId: string,
  { agent: reference, level, rationale, seenName }: RiskChange,
  by: Actor,
): Promise<boolean> {
  requireValidReference(reference);
  if (rationale !== undefined) requireText('the rationale', rationale);
  return evidenceAct(pool, tenantId, by, async ({ tx, requireAgent, append, record }) => {
    const agent = requireAgent(reference);
    requireSeenName(agent, seenName);
    if (agent.riskLevel === level) return false;
    await setAgentRisk(tx, agent.id, level);
    append({ action: 'agent.risk_set', agent_id: agent.id, risk_level: level });
    record({ action: `agent.${level}_risk`, subject: agent.name, rationale: rationale ?? null, agent_id: agent.id });
    return true;
  });
}
