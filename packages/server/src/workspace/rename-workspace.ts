import type { Pool } from 'pg';
import { renameTenant } from '../storage/tenants.ts';
import type { Actor } from './actor.ts';
import { governanceAct } from './governance-act.ts';
import { Refusal } from './refusal.ts';
import { requireName } from './wrong-input.ts';

const UNIQUE_VIOLATION = '23505';

/** Renames a workspace. Returns false, and writes nothing, when it has that name already. */
export async function renameWorkspace(pool: Pool, tenantId: string, name: string, by: Actor): Promise<boolean> {
  requireName('the name', name);
  return governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const before = await renameTenant(tx, name).catch((error: { code?: unknown }) => {
      if (error.code !== UNIQUE_VIOLATION) throw error;
      throw new Refusal(`a workspace named ${JSON.stringify(name)} exists already; choose another name`);
    });
    if (before === undefined) return false;
    await record({ action: 'workspace.renamed', subject: name, metadata: { before, after: name } });
    return true;
  });
}
