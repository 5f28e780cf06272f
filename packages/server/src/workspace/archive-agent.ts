import type { Pool } from 'pg';
import { setAgentArchived } from '../storage/agents.ts';
import type { Actor } from './actor.ts';
import { governanceAct, requireAgent } from './governance-act.ts';
import { requireText } from './wrong-input.ts';

/** Archives an agent, or restores an archived one. Returns false, and writes nothing, if the agent is in that state already. */
export async function archiveAgent(
  pool: Pool,
  tenantId: string,
  { agentId, archived, rationale }: { agentId: string; archived: boolean; rationale: string | undefined },
  by: Actor,
): Promise<boolean> {
  if (rationale !== undefined) requireText('the rationale', rationale);
  return governanceAct(pool, tenantId, by, async ({ tx, now, record }) => {
    const agent = await requireAgent(tx, { id: agentId });
    if (!(await setAgentArchived(tx, agent.id, archived ? now : null))) return false;
    const action = archived ? 'agent.archived' : 'agent.restored';
    record({ action, subject: agent.name, rationale: rationale ?? null, agent_id: agent.id });
    return true;
  });
}
