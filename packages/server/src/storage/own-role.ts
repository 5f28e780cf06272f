import type { Pool } from 'pg';

/** Whether the connected role bypasses row-level security. */
export async function bypassesRowLevelSecurity(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ bypasses: boolean }>(
    'SELECT rolsuper OR rolbypassrls AS bypasses FROM pg_roles WHERE rolname = current_user',
  );
  return rows[0]?.bypasses === true;
}
