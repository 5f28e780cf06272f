import type { Pool } from 'pg';

/** Whether the role that is connected is one that row-level security does not hold. */
export async function bypassesRowLevelSecurity(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ bound: boolean }>(
    'SELECT NOT (rolsuper OR rolbypassrls) AS bound FROM pg_roles WHERE rolname = current_user',
  );
  return rows[0]?.bound === false;
}
