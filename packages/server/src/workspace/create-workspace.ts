import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { newId } from '../new-id.ts';
import { insertDecisionKey } from '../storage/decisions.ts';
import { insertLogHeads, insertTenant } from '../storage/tenants.ts';
import { newDecisionKeyId } from './decision-keys.ts';
import { Refusal } from './refusal.ts';
import { requireLabel } from './wrong-input.ts';

/** Makes a workspace with the heads of its logs and its first decision key. Names are unique. Returns its id. */
export async function createWorkspace(pool: Pool, name: string): Promise<string> {
  requireLabel('the name', name);
  return inTenantTransaction(pool, newId(), async (tx) => {
    if (!(await insertTenant(tx, name)))
      throw new Refusal(`a workspace named ${JSON.stringify(name)} exists already; choose another name`);
    return tx.commit(Promise.all([insertLogHeads(tx), insertDecisionKey(tx, newDecisionKeyId())]).then(() => tx.tenantId));
  });
}
