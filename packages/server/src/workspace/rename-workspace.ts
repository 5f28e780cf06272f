import type { Pool } from 'pg';
import { renameTenant } from '../storage/tenants.ts';
import type { Actor } from './actor.ts';
import { governanceAct } from './governance-act.ts';
import { requireName } from './wrong-input.ts';

/**
 * Renames a workspace. Returns false, and writes nothing, if the name is unchanged. Other workspaces may have the same name, because an
 * error would reveal to a tenant that another tenant uses the name.
 */
export async function renameWorkspace(pool: Pool, tenantId: string, name: string, by: Actor): Promise<boolean> {
  requireName('the name', name);
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const before = await renameTenant(tx, name);
    if (before === undefined) return false;
    record({ action: 'workspace.renamed', subject: name, metadata: { before, after: name } });
    return true;
  });
}
