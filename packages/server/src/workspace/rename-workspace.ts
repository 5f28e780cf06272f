import type { Pool } from 'pg';
import { renameTenant } from '../storage/tenants.ts';
import type { Actor } from './actor.ts';
import { governanceAct } from './governance-act.ts';
import { requireName } from './wrong-input.ts';

/**
 * Renames a workspace. Returns false, and writes nothing, when it has that name already. Other workspaces may have the same name: a
 * refusal would tell one tenant that another tenant uses it.
 */
export async function renameWorkspace(pool: Pool, tenantId: string, name: string, by: Actor): Promise<boolean> {
  requireName('the name', name);
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const before = await renameTenant(tx, name);
    if (before === undefined) return false;
    await record({ action: 'workspace.renamed', subject: name, metadata: { before, after: name } });
    return true;
  });
}
