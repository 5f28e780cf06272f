import type { Client } from 'pg';
import { hasDanglingRow, isChangedSchema, listForeignKeys } from '../database/foreign-keys.ts';

/**
 * Why a restore would not accept the rows in the snapshot of a backup, one line for each reason. An owner of the database can insert rows
 * that refer to no other row. Call it at the end of the transaction: a failed comparison aborts the transaction.
 */
export async function findDanglingRows(client: Client, tenants: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  try {
    for (const key of await listForeignKeys(client)) {
      // The rows of a table with row-level security are copied for each row of `tenants`, so they refer to it.
      if (key.isByTenant && key.target === 'tenants') continue;
      for (const tenantId of key.isByTenant ? tenants : [undefined]) {
        if (!(await hasDanglingRow(client, key, tenantId))) continue;
        const where = tenantId === undefined ? '' : ` of workspace ${tenantId}`;
        faults.push(`the table ${key.table} has a row${where} that refers to no row of ${key.target} (${key.name})`);
      }
    }
  } catch (error) {
    if (!isChangedSchema(error)) throw error;
    faults.push(`the foreign keys were not compared: ${error.message}`);
  }
  return faults;
}
