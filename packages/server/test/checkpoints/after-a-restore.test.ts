import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CheckpointCopier } from '../../src/checkpoints/checkpoint-copier.ts';
import { checkpointFolder } from '../../src/checkpoints/checkpoint-folder.ts';
import { openMemoryFolder } from '../../src/checkpoints/memory-folder.ts';
import { makeCheckpoint } from '../../src/ledger/checkpoints.ts';
import { setHeadStore } from '../../src/ledger/head-memory.ts';
import { acceptRestore } from '../../src/workspace/accept-restore.ts';
import { Insider } from '../attacks/insider.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-after-restore-'));
const sinkFolder = join(folder, 'sink');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let restored: TestServer;
let tenantId: string;
/** The checkpoint of six rows whose last three rows were abandoned in the restore. */
let abandonedNote: string;
const warnings: { size: number; file: string }[] = [];

beforeAll(async () => {
  mkdirSync(sinkFolder);
  const store = openMemoryFolder({ memoryDir: join(folder, 'memory'), isMemoryDirConfigured: true }, () => undefined)!;
  const first = await testServer({ checkpointSeconds: undefined });
  setHeadStore(first.open.pool, store);
  tenantId = await first.workspace('restored');
  const key = await first.key(tenantId);
  const append = async (server: TestServer, count: number) => {
    for (let number = 0; number < count; number += 1)
      expect((await server.post(paths.audit, key, { actor: 'ci', action: 'deployed' })).status).toBe(200);
  };
  const sign = (server: TestServer, options: { isRestoreAccepted?: boolean } = {}) =>
    makeCheckpoint(server.open.pool, tenantId, server.open.signer.keys, { log: 'audit', ...options });
  const logger = pino({}, { write: (line: string) => warnings.push(JSON.parse(line)) });
  /** Copies the checkpoints to the checkpoint folder, like a server that has just started. */
  const copy = (server: TestServer) =>
    new CheckpointCopier(server.open.ledgerPool, {
      sink: checkpointFolder(sinkFolder),
      readKeys: async () => server.open.signer.keys,
      logger,
    }).copyNew(tenantId, 'audit');

  await append(first, 3);
  await sign(first);
  const insider = await Insider.open(first.database); // saves this state of the database
  await append(first, 3);
  abandonedNote = (await sign(first)).note;
  await copy(first);
  await insider.undo();

  restored = await testServer({ checkpointSeconds: undefined, database: first.database });
  setHeadStore(restored.open.pool, store);
  await acceptRestore(restored.open.pool, tenantId, { write: true }); // appends row 4
  await sign(restored, { isRestoreAccepted: true });
  await append(restored, 2);
  await sign(restored);
  await copy(restored);
  await append(restored, 1);
  await sign(restored);
  await copy(restored);
  await insider.close();
});

test('a log whose stored rows were changed is not accepted as restored', async () => {
  const store = openMemoryFolder({ memoryDir: join(folder, 'changed'), isMemoryDirConfigured: true }, () => undefined)!;
  const first = await testServer({ checkpointSeconds: undefined });
  setHeadStore(first.open.pool, store);
  const id = await first.workspace();
  const key = await first.key(id);
  const append = async () => (await first.post(paths.audit, key, { actor: 'ci', action: 'deployed' })).status;
  for (let number = 0; number < 3; number += 1) expect(await append()).toBe(200);
  await makeCheckpoint(first.open.pool, id, first.open.signer.keys, { log: 'audit' });
  for (let number = 0; number < 3; number += 1) expect(await append()).toBe(200);
  const insider = await Insider.open(first.database);
  const restarted = await testServer({ checkpointSeconds: undefined, database: first.database });
  setHeadStore(restarted.open.pool, store);
  const accept = (write: boolean) => acceptRestore(restarted.open.pool, id, { write });
  for (const change of [
    `UPDATE countersign.audit_entries SET row_hash = sha256('x') WHERE $T AND seq = 2`,
    `UPDATE countersign.audit_entries SET row_hash = sha256('x') WHERE $T AND seq = 5`,
    'DELETE FROM countersign.audit_entries WHERE $T AND seq = 6',
  ]) {
    await insider.sql(change, id);
    for (const write of [false, true]) await expect(accept(write)).rejects.toThrow('A restore does not explain this');
    await insider.undo();
  }
  await expect(accept(true)).rejects.toThrow('there is no restore to accept');
  expect(await insider.sql('SELECT seq FROM countersign.audit_entries WHERE $T', id)).toHaveLength(6);
  await insider.close();
});

test('the checkpoint folder has every checkpoint of the restored log, and keeps the abandoned checkpoint', async () => {
  const auditFolder = join(sinkFolder, tenantId, 'audit');
  const files = readdirSync(auditFolder).map((name) => readFileSync(join(auditFolder, name), 'utf8'));
  const stored = await restored.database.sql<{ size: number; note: string }>(
    `SELECT size, note FROM countersign.checkpoints WHERE tenant_id = $1 AND log = 'audit'`,
    [tenantId],
  );
  expect(stored.map(({ size }) => Number(size)).sort()).toEqual([3, 4, 6, 7]);
  expect(files.sort()).toEqual([...stored.map(({ note }) => note), abandonedNote].sort());
  expect(warnings).toMatchObject([
    { level: 40, size: 6, file: expect.stringMatching(/^0000000000000006\.[0-9a-f]{8}\.checkpoint$/) },
  ]);
});

test('`ledger verify` of a workspace and of an export names the accepted restore that explains an abandoned checkpoint', async () => {
  const [keptFile, keysFile, exportFile] = ['kept.note', 'keys.json', 'audit.ndjson'].map((name) => join(folder, name));
  writeFileSync(keptFile!, abandonedNote);
  writeFileSync(keysFile!, await (await fetch(`${restored.url}/.well-known/jwks.json`)).text());
  const run = (...args: string[]) => runCommand(environmentOf(restored), 'ledger', ...args);
  await run('export', '--workspace', 'restored', '--output', exportFile!);
  for (const source of [
    ['--workspace', 'restored'],
    ['--file', exportFile!],
  ]) {
    const { status, out } = await run('verify', ...source, '--checkpoint', keptFile!, '--key', keysFile!);
    expect([status, out]).toEqual([1, expect.stringMatching(/row 4 of the audit ledger \(ledger\.restore_accepted\)/)]);
  }
});
