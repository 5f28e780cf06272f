import type { Pool } from 'pg';

/** Whether the connected role bypasses row-level security. */
export async function bypassesRowLevelSecurity(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ bound: boolean }>(
    'SELECT NOT (rolsuper OR rolbypassrls) AS bound FROM pg_roles WHERE rolname = current_user',
  );
  return rows[0]?.bound === false;
}
