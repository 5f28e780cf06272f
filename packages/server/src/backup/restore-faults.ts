import type { Client } from 'pg';
import { hasDanglingRow, isSchemaMismatch, listForeignKeys } from '../database/foreign-keys.ts';

/**
 * Finds rows in the snapshot of a backup that refer to a missing row. A restore would not accept them. An owner of the database can insert
 * such rows. Returns one line for each foreign key and tenant with such a row. Call it at the end of the transaction: a failed comparison
 * aborts the transaction.
 */
export async function findDanglingRows(client: Client, tenants: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  try {
    for (const key of await listForeignKeys(client)) {
      // Of a table with tenant IDs, only the rows of the tenants in `tenants` are copied. So no copied row refers to a missing tenant.
      if (key.isByTenant && key.target === 'tenants') continue;
      for (const tenantId of key.isByTenant ? tenants : [undefined]) {
        if (!(await hasDanglingRow(client, key, tenantId))) continue;
        const where = tenantId === undefined ? '' : ` of workspace ${tenantId}`;
        faults.push(`the table ${key.table} has a row${where} that refers to no row of ${key.target} (${key.name})`);
      }
    }
  } catch (error) {
    if (!isSchemaMismatch(error)) throw error;
    faults.push(`the foreign keys were not compared: ${error.message}`);
  }
  return faults;
}
