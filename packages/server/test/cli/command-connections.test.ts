import { expect, test } from 'vitest';
import { environmentOf, runForJson } from '../fixtures/run-command.ts';
import { testServer } from '../harness/test-server.ts';

const server = await testServer();
const workspace = await server.workspace();

/** The number of connections of commands that PostgreSQL has accepted so far. Waits until all of them are closed and counted. */
async function countCommandConnections(): Promise<number> {
  const readState = () =>
    server.database.sql<{ open: number; accepted: number }>(
      `SELECT sessions::int AS accepted,
              (SELECT count(*)::int FROM pg_stat_activity a WHERE a.datid = d.datid AND application_name = 'countersign-command') AS open
         FROM pg_stat_database d WHERE datname = current_database()`,
    );
  await expect.poll(async () => (await readState())[0]?.open).toBe(0);
  return (await readState())[0]!.accepted;
}

test.each([
  { command: 'keys list', connections: 1 },
  // While one connection reads the rows of a log, another one looks up the checkpoints and the keys.
  { command: 'ledger verify', connections: 2 },
  { command: 'ledger verify --log all', connections: 2 },
])('`$command` opens at most this number of connections to the database: $connections', async ({ command, connections }) => {
  const run = () => runForJson(environmentOf(server), ...command.split(' '), '--workspace', workspace);
  await run();
  const before = await countCommandConnections();
  await run();
  expect((await countCommandConnections()) - before).toBeLessThanOrEqual(connections);
});
