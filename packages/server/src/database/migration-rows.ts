import type pg from 'pg';

/** PostgreSQL's codes for an object that exists already: a column, function, schema, table, object of another kind. */
const EXISTS_CODES = new Set(['42701', '42723', '42P06', '42P07', '42710']);

/** The beginning of the message of node-pg-migrate if a migration has not run, but a later one has. */
const WRONG_ORDER = 'Not run migration ';

/**
 * Whether the error of a migration can mean that it has run before, but its row in the table `migrations` was deleted: its objects exist
 * already, or a later migration is recorded.
 */
export function isMigrationRowMissing(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return EXISTS_CODES.has(String(code)) || String(message).startsWith(WRONG_ORDER);
}

/**
 * A missing row gets the time of the next existing row. After the last existing row, it gets the current time. If an existing time is
 * later, which is possible because the column has no time zone, it gets the latest one. So its time is never earlier than the run of the
 * migration, and the order of the rows stays right.
 */
const PUT_BACK = `
  WITH kept AS (DELETE FROM countersign.migrations RETURNING name, run_on)
  INSERT INTO countersign.migrations (name, run_on)
  SELECT known.name, coalesce(min(kept.run_on) OVER (ORDER BY known.place DESC), greatest(max(kept.run_on) OVER (), now()::timestamp))
    FROM unnest($1::text[]) WITH ORDINALITY AS known (name, place) LEFT JOIN kept ON kept.name = known.name
   ORDER BY known.place`;

/** Puts back the deleted rows of migrations that have run. Returns their names. @param known the names of all migrations, in order. */
export async function putBackMigrationRows(client: pg.Client, known: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('SELECT name FROM countersign.migrations');
  const stored = new Set(rows.map(({ name }) => name));
  await client.query(PUT_BACK, [known]);
  return known.filter((name) => !stored.has(name));
}
