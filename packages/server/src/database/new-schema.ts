import type pg from 'pg';
import { ExitError } from '../errors/exit-codes.ts';

const FACTS = `
SELECT current_setting('server_encoding') AS encoding,
  coalesce(has_schema_privilege(to_regnamespace('countersign'), 'USAGE, CREATE'), true) AS "isOpen",
  (SELECT min(relname) FROM pg_class
    WHERE relnamespace = to_regnamespace('countersign') AND relkind IN ('r', 'p', 'v', 'm', 'f')
   HAVING NOT bool_or(relname = 'migrations')) AS stranger`;

interface Facts {
  encoding: string;
  /** Whether the role may create tables in the schema. Also true if there is no schema. */
  isOpen: boolean;
  /** A table of something else: there is no table of migrations. */
  stranger: string | null;
}

/**
 * Requires a database in which the tables can be created.
 * @throws ExitError if the database cannot store every character, or if the schema belongs to something else. Nothing was changed.
 */
export async function requireNewSchema(client: pg.Client): Promise<void> {
  const { encoding, isOpen, stranger } = (await client.query<Facts>(FACTS)).rows[0]!;
  if (encoding !== 'UTF8')
    throw new ExitError(
      'refused',
      `the database has the encoding ${encoding}, and the server needs UTF8; create another database (nothing was changed)`,
    );
  if (stranger !== null)
    throw new ExitError(
      'refused',
      `the schema countersign of this database has the table ${stranger}, but is not of this server; use another database ` +
        '(nothing was changed)',
    );
  if (!isOpen)
    throw new ExitError(
      'refused',
      'the schema countersign of this database belongs to another role; use another database, or make the owner of the tables its ' +
        'owner (nothing was changed)',
    );
}
