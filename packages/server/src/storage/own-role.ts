import type { Pool } from 'pg';

/** Whether the connected role bypasses row-level security. */
export async function bypassesRowLevelSecurity(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ bypasses: boolean }>(
    'SELECT rolsuper OR rolbypassrls AS bypasses FROM pg_roles WHERE rolname = current_user',
  );
  return rows[0]?.bypasses === true;
}

/** Whether transactions of the connected role are read-only, because the database is a replica or was set to read-only. */
export async function isReadOnly(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ value: string }>(`SELECT current_setting('transaction_read_only') AS value`);
  return rows[0]?.value === 'on';
}
