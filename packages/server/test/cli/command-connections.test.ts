import { expect, test } from 'vitest';
import { environmentOf, runForJson } from '../fixtures/run-command.ts';
import { afterFile } from '../harness/after-file.ts';
import { cloneDatabase } from '../harness/test-database.ts';
import { testServer } from '../harness/test-server.ts';

const database = await cloneDatabase();
afterFile(() => database.drop());
const server = await testServer({ database });
const workspace = await server.workspace();
const environment = environmentOf(server);
// A server would open connections that the test counts too.
await server.stop();

/** The number of connections that PostgreSQL has accepted so far. Waits until those of Countersign are closed and counted. */
async function countConnections(): Promise<number> {
  const readState = () =>
    database.sql<{ open: number; accepted: number }>(
      `SELECT sessions::int AS accepted,
              (SELECT count(*)::int FROM pg_stat_activity a WHERE a.datid = d.datid AND application_name LIKE 'countersign-%') AS open
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
  const before = await countConnections();
  await runForJson(environment, ...command.split(' '), '--workspace', workspace);
  const count = (await countConnections()) - before;
  expect(count).toBeGreaterThanOrEqual(1);
  expect(count).toBeLessThanOrEqual(connections);
});
