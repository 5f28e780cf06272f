import type { TestDatabase } from '../harness/test-database.ts';

/** A seal with the right format that was made without the master secret. */
const FORGED_SEAL = `'\\x01' || sha256('forged')`;

/**
 * Inserts a row as an attacker who owns the database and has no secret.
 * @param values an SQL expression for the value of each column. Omitted columns get their defaults. If the table has a column `seal`, the
 *    row gets a forged seal.
 */
export async function insertRow(database: TestDatabase, table: string, values: Readonly<Record<string, string>>): Promise<void> {
  const [sealColumn] = await database.sql<{ found: boolean }>(
    `SELECT EXISTS (SELECT FROM information_schema.columns
      WHERE table_schema = 'countersign' AND table_name = $1 AND column_name = 'seal') AS found`,
    [table],
  );
  const allValues = { ...values, ...(sealColumn!.found ? { seal: FORGED_SEAL } : {}) };
  await database.sql(
    `INSERT INTO countersign.${table} (${Object.keys(allValues).join(', ')}) VALUES (${Object.values(allValues).join(', ')})`,
  );
}

/** The SQL literal of a text. */
export const textLiteral = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/** The SQL literal of bytes. */
export const bytesLiteral = (value: Uint8Array): string => `'\\x${Buffer.from(value).toString('hex')}'::bytea`;
