import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { ExitError } from '../errors/exit-codes.ts';

/** How often the connections are read. PostgreSQL needs a moment to end the connections of a stopped server. */
const ATTEMPTS_MAX = 8;
/** The pause between two attempts. */
const PAUSE_MS = 250;

/**
 * The connections of other servers and commands. A running server always has at least one: its clock watch uses the lookup pool
 * every second, and reconnects after PostgreSQL has ended all connections. A process that waits for the migration has only connections
 * named `countersign-migrate` or `countersign-start`, which the query leaves out. PgBouncer can append the host of the client to a name
 * (`application_name_add_host`).
 */
const CONNECTIONS = `SELECT pid, application_name AS name FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'countersign-%' AND pid <> pg_backend_pid()
    AND application_name !~ '^countersign-(migrate|start)( |$)'
  ORDER BY pid`;

/**
 * Requires that no other server or command uses the database. After the migration, a process of an older version would continue to write
 * rows as its version does, and `ledger verify` could report these rows as changed.
 * @throws ExitError if there are still connections after almost two seconds.
 */
export async function requireNoServers(client: pg.Client): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await client.query<{ pid: number; name: string }>(CONNECTIONS);
    const [first] = rows;
    if (first === undefined) return;
    if (attempt === ATTEMPTS_MAX)
      throw new ExitError(
        'refused',
        'the database must be migrated, but a server or command of Countersign is still connected to it ' +
          `(${first.name}, process ${first.pid} of PostgreSQL); stop all servers and commands, then start this one again (nothing was changed)`,
      );
    await sleep(PAUSE_MS);
  }
}
