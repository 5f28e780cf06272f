import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openMemoryFolder } from '../../src/checkpoints/memory-folder.ts';
import { setHeadStore } from '../../src/ledger/head-memory.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, testServer } from '../harness/test-server.ts';
import { captureLog, until } from './checkpoints-of-a-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-unwritable-memory-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const [memoryDir, checkpointDir] = [join(folder, 'memory'), join(folder, 'checkpoints')];
mkdirSync(checkpointDir);

const { log, lines } = captureLog();
const filesOf = (root: string, tenantId: string): string[] => {
  try {
    return readdirSync(join(root, tenantId), { recursive: true }).map(String);
  } catch {
    return [];
  }
};

test('/readyz, the log and `ledger checkpoint` report an unwritable memory folder; checkpoints reach the checkpoint folder', async () => {
  const server = await testServer({ checkpointSeconds: 1, checkpointDir, log });
  setHeadStore(
    server.open.pool,
    openMemoryFolder({ memoryDir, isMemoryDirConfigured: true }, () => undefined),
  );
  const [first, second] = [await server.workspace('first'), await server.workspace('second')];
  // No file can be created below a link to a folder that does not exist, not even by root.
  const link = join(memoryDir, first);
  symlinkSync(join(folder, 'nowhere'), link);
  for (const tenantId of [first, second]) {
    const key = await server.key(tenantId);
    expect((await server.post(paths.audit, key, { actor: 'ci', action: 'test.ran' })).status).toBe(200);
  }
  const readyz = async () => (await fetch(`${server.url}/readyz`)).text();
  for (const tenantId of [first, second])
    await until('the checkpoint of the audit ledger is in the checkpoint folder', () =>
      filesOf(checkpointDir, tenantId).some((name) => /audit.*checkpoint/.test(name)),
    );
  await until('the memory folder has the checkpoint of the second workspace', () =>
    filesOf(memoryDir, second).includes('audit.checkpoint'),
  );
  await until('/readyz warns', async () => (await readyz()).includes('the memory folder cannot be used (ENOENT)'));
  expect(lines.some((line) => line.includes('"level":50') && line.includes(link))).toBe(true);

  const token = await mintKey(server.open.pool, first, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
  const response = await fetch(`${server.url}/api/ledger/audit/checkpoint`, { headers: { authorization: `Bearer ${token}` } });
  expect([response.status, await response.json()]).toEqual([503, { error: 'unavailable', issues: [] }]);
  const environment = { ...environmentOf(server), COUNTERSIGN_MEMORY_DIR: memoryDir };
  const command = () => runCommand(environment, 'ledger', 'checkpoint', '--workspace', 'first');
  expect(await command()).toMatchObject({ status: 2, err: expect.stringContaining(`${link}/audit.checkpoint`) });
  expect((await command()).err).not.toContain('database');

  rmSync(link);
  await until('/readyz has no warning', async () => !(await readyz()).includes('memory folder'));
  expect(await command()).toMatchObject({ status: 0 });
});
