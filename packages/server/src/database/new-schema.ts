import type pg from 'pg';
import { ExitError } from '../errors/exit-codes.ts';

const FACTS = `
SELECT current_setting('server_encoding') AS encoding,
  coalesce(has_schema_privilege(to_regnamespace('countersign'), 'USAGE')
    AND has_schema_privilege(to_regnamespace('countersign'), 'CREATE'), true) AS "mayCreateTables",
  (SELECT min(relname) FROM pg_class
    WHERE relnamespace = to_regnamespace('countersign') AND relkind IN ('r', 'p', 'v', 'm', 'f')
   HAVING NOT bool_or(relname = 'migrations')) AS "otherTable"`;

interface Facts {
  encoding: string;
  /** Whether the role may create tables in the schema. Also true if there is no schema. */
  mayCreateTables: boolean;
  /** A table or view of the schema. Null if the schema has none, or if it has Countersign's table `migrations`. */
  otherTable: string | null;
}

/**
 * Requires a database in which the tables can be created.
 * @throws ExitError, before any change, if the encoding is not UTF8, if the schema has other tables, or if the role may not create tables
 * in it.
 */
export async function requireNewSchema(client: pg.Client): Promise<void> {
  const { encoding, mayCreateTables, otherTable } = (await client.query<Facts>(FACTS)).rows[0]!;
  if (encoding !== 'UTF8')
    throw new ExitError(
      'refused',
      `the database has the encoding ${encoding}, and the server needs UTF8; create another database (nothing was changed)`,
    );
  if (otherTable !== null)
    throw new ExitError(
      'refused',
      `the schema countersign of this database has the table ${otherTable}, but was not created by Countersign; use another ` +
        'database (nothing was changed)',
    );
  if (!mayCreateTables)
    throw new ExitError(
      'refused',
      'the role that migrates may not create tables in the schema countersign of this database; make this role the owner of the ' +
        'schema, or use another database (nothing was changed)',
    );
}

/** Whether the database has the schema `countersign`. */
export async function hasSchema(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(`SELECT to_regnamespace('countersign') IS NOT NULL AS found`);
  return rows[0]!.found;
}
