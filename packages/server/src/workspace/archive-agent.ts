import type { Pool } from 'pg';
import { setAgentArchived } from '../storage/agents.ts';
import type { Actor } from './actor.ts';
import { governanceAct, requireAgent, requireSeenName } from './governance-act.ts';
import { requireText } from './wrong-input.ts';

/** Whether to archive an agent. `seenName` is the name that the person saw. */
interface ArchiveChange {
  agentId: string;
  archived: boolean;
  rationale: string | undefined;
  seenName?: string | undefined;
}

/**
 * Archives an agent, or restores an archived one. Returns false, and writes nothing, if the agent is in that state already.
 * @throws NotFoundError for an unknown agent.
 * @throws RuleViolationError if the person saw another name than the evidence log has.
 */
export async function archiveAgent(
  pool: Pool,
  tenantId: string,
  { agentId, archived, rationale, seenName }: ArchiveChange,
  by: Actor,
): Promise<boolean> {
  if (rationale !== undefined) requireText('the rationale', rationale);
  return governanceAct(pool, tenantId, by, async ({ tx, now, record }) => {
    const agent = await requireAgent(tx, { id: agentId });
    requireSeenName(agent, seenName);
    if (!(await setAgentArchived(tx, agent.id, archived ? now : null))) return false;
    const action = archived ? 'agent.archived' : 'agent.restored';
    record({ action, subject: agent.name, rationale: rationale ?? null, agent_id: agent.id });
    return true;
  });
}
