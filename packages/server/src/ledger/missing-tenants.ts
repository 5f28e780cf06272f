import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { COMMIT_GAP_MS_MAX } from '../database/citus-connections.ts';
import { requireSeals } from '../database/seals.ts';
import { listKeyOwnerIds, listTenantIds } from '../storage/tenants.ts';
import { seenTenantIds } from './head-memory.ts';

/**
 * If the row of a tenant in `tenants` is missing, reports it as a broken row. Without this row, no background work finds the tenant: it gets
 * no periodic checkpoints, and its logs are not verified.
 */
export async function reportMissingTenants(pool: Pool): Promise<void> {
  // These IDs are read before the rows of `tenants`, so a new tenant does not count as missing.
  const missing = new Set([...seenTenantIds(pool), ...(await listKeyOwnerIds(pool))]);
  const removeListed = async () => {
    for (const id of await listTenantIds(pool)) missing.delete(id);
  };
  await removeListed();
  if (missing.size === 0) return;
  await sleep(COMMIT_GAP_MS_MAX, undefined, { ref: false });
  await removeListed();
  for (const id of missing) requireSeals(pool).broken.report({ table: 'tenants', tenantId: id, key: { id } });
}
