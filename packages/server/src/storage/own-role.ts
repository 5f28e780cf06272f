import type { Pool } from 'pg';

/** Whether the connected role bypasses row-level security. */
export async function bypassesRowLevelSecurity(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ bypasses: boolean }>(
    'SELECT rolsuper OR rolbypassrls AS bypasses FROM pg_roles WHERE rolname = current_user',
  );
  return rows[0]?.bypasses === true;
}

/**
 * Whether transactions of the connected role are read-only, because the database is a replica or was set to read-only. Closes a read-only
 * connection, because a session keeps the `default_transaction_read_only` that it started with.
 */
export async function isReadOnly(pool: Pool): Promise<boolean> {
  const client = await pool.connect();
  let isWritable = false;
  try {
    const { rows } = await client.query<{ value: string }>(`SELECT current_setting('transaction_read_only') AS value`);
    isWritable = rows[0]?.value !== 'on';
    return !isWritable;
  } finally {
    client.release(!isWritable);
  }
}
