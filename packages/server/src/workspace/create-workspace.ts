import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { insertSealedHeads } from '../ledger/sealed-heads.ts';
import { insertDecisionKey } from '../storage/decision-keys.ts';
import { newId } from '../storage/new-id.ts';
import { insertTenant, isTenantNameInUse } from '../storage/tenants.ts';
import type { ActorName } from './actor.ts';
import { newDecisionKeyId } from './decision-keys.ts';
import { type Act, actIn } from './governance-act.ts';
import { RuleViolationError } from './rule-violation.ts';
import { requireName } from './wrong-input.ts';

/**
 * Creates a workspace for the operator, with the heads of its logs and its first decision key. Rejects a name that is in use. Returns the
 * ID of the workspace.
 */
export async function createWorkspace(pool: Pool, name: string): Promise<string> {
  requireName('the name', name);
  return inTenantTransaction(pool, newId(), async (tx) => {
    if (await isTenantNameInUse(tx, name))
      throw new RuleViolationError(`a workspace named ${JSON.stringify(name)} exists already; choose another name`);
    await insertWorkspace(tx, name);
    return tx.tenantId;
  });
}

/**
 * Creates a workspace for a person together with its first action, atomically. The name may be in use, because an error would reveal the
 * name of another workspace.
 */
export async function createWorkspaceBy<T>(pool: Pool, name: string, by: ActorName, work: (act: Act) => Promise<T>): Promise<T> {
  requireName('the name', name);
  return inTenantTransaction(pool, newId(), async (tx) => {
    await insertWorkspace(tx, name);
    return actIn(tx, by, work);
  });
}

async function insertWorkspace(tx: Transaction, name: string): Promise<void> {
  await insertTenant(tx, name);
  await Promise.all([insertSealedHeads(tx), insertDecisionKey(tx, newDecisionKeyId())]);
}
