import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { captureLog } from '../checkpoints/checkpoints-of-a-server.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const scratch = mkdtempSync(join(tmpdir(), 'countersign-deleted-tenant-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const { log, lines } = captureLog();
let server: TestServer;
let deletedId: string;
let key: string;

beforeAll(async () => {
  server = await testServer({ log });
  deletedId = await server.workspace('deleted');
  key = await server.key(deletedId);
  await server.workspace('other');
  expect((await append()).status).toBe(200);
});

const append = () => server.post(paths.audit, key, { actor: 'ci', action: 'test.ran' });
const deleteRows = (table: string, column: string) =>
  server.database.sql(
    `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM countersign.${table} WHERE ${column} = '${deletedId}'; COMMIT`,
  );
const warnings = async () =>
  ((await (await fetch(`${server.url}/readyz`)).json()) as { warnings?: string[] }).warnings?.join(' ') ?? '';
const isDeletedWorkspaceLogged = () => lines.some((line) => line.includes('"tenants"') && line.includes(deletedId));
const backup = (name: string) => runCommand(environmentOf(server), 'backup', '--output', join(scratch, name));

test('a server and `backup` report no missing workspace while all rows of the table tenants exist', async () => {
  await server.compareTables();
  expect(await warnings()).not.toContain('tenants');
  expect(await backup('complete')).toMatchObject({ status: 0 });
});

test('`backup` and a server that has just started report a workspace whose row in the table tenants was deleted', async () => {
  await deleteRows('tenants', 'id');
  expect(await backup('incomplete')).toMatchObject({
    status: 1,
    out: expect.stringContaining(`the row of tenants with the ID ${deletedId} is missing`),
  });
  const newLog = captureLog();
  const newServer = await testServer({ database: server.database, log: newLog.log });
  await newServer.compareTables();
  expect(newLog.lines.some((line) => line.includes('"tenants"') && line.includes(deletedId))).toBe(true);
  expect(await (await fetch(`${newServer.url}/readyz`)).text()).toContain('tenants');
});

test('a server that has used a workspace reports it as missing even if no row of tenants, log_heads and ingestion_keys has its ID', async () => {
  for (const table of ['log_heads', 'key_last_use', 'ingestion_keys']) await deleteRows(table, 'tenant_id');
  expect(isDeletedWorkspaceLogged()).toBe(false);
  await server.compareTables();
  expect(isDeletedWorkspaceLogged()).toBe(true);
  expect(await warnings()).toContain('tenants');
});
