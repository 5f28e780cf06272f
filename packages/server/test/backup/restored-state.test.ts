import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIST_EVERY_MS, until } from '../../../embedded-database/test/harness/processes.ts';
import { newKey, outputOf } from '../fixtures/run-command.ts';
import { CommandProcess, DataFolder, ServerProcess } from '../fixtures/server-process.ts';
import { paths } from '../harness/test-server.ts';

let folder: DataFolder;
let server: ServerProcess | undefined;
let key = '';

beforeAll(async () => {
  folder = DataFolder.migrated();
  server = await ServerProcess.start(folder.environment);
  ({ key } = await newKey(folder.environment, 'acme'));
});

afterAll(async () => {
  await server?.end('SIGTERM');
  await folder.clear();
});

const append = async () => {
  const response = await fetch(server!.url + paths.audit, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ actor: 'ci', action: 'test.ran' }),
  });
  return [response.status, ((await response.json()) as { error?: string }).error];
};
const readReadiness = async () => (await (await fetch(`${server!.url}/readyz`)).json()) as { warnings?: string[] };
const checkpoint = () => outputOf(['ledger', 'checkpoint', '--workspace', 'acme'], folder.environment);

async function stop(): Promise<void> {
  await server?.end('SIGTERM');
  server = undefined;
  await until('no process of the data folder runs', () => folder.isStopped(), LIST_EVERY_MS);
}

async function restart(): Promise<void> {
  server = await ServerProcess.start(folder.environment);
}

const accept = async (...options: string[]) => {
  const command = new CommandProcess(['ledger', 'accept-restore', '--workspace', 'acme', ...options], folder.environment);
  return [await command.ended, command.stdout, command.stderr];
};

test('the server refuses an older state that was restored while the server was stopped, until the operator accepts the restore', {
  timeout: 180_000,
}, async () => {
  for (let count = 0; count < 3; count += 1) expect(await append()).toEqual([200, undefined]);
  await checkpoint();
  expect(readdirSync(`${folder.path}-memory`)).toHaveLength(1);
  await stop();
  const backup = `${folder.path}-backup`;
  execFileSync('cp', ['-a', folder.path, backup]); // keeps the owners: PostgreSQL may run as another user

  await restart();
  // The restore abandons these three rows. With the entry of the accepted restore, the restored log has four rows instead of six.
  for (let count = 0; count < 3; count += 1) expect(await append()).toEqual([200, undefined]);
  expect(await readReadiness()).toEqual({ status: 'ready' });
  await checkpoint();
  await stop();
  rmSync(folder.path, { recursive: true });
  renameSync(backup, folder.path);

  await restart();
  expect(await append()).toEqual([500, 'log_rewritten']);
  expect((await readReadiness()).warnings).toEqual([expect.stringMatching(/^logs refused: 1 /)]);
  expect(server!.errorLogLines.join()).toMatch(/it has 3 rows, and had 6: an older state was restored .*ledger accept-restore/);
  expect(await append()).toEqual([500, 'log_rewritten']);
  await stop();
  const verify = new CommandProcess(['ledger', 'verify', '--workspace', 'acme'], folder.environment);
  expect([await verify.ended, verify.stdout]).toEqual([1, expect.stringMatching(/^broken: .*ends after 3: .*accept-restore/)]);

  expect(await accept()).toEqual([
    0,
    'audit: continues from 3 rows; the abandoned state had at least 6\n',
    expect.stringMatching(/nothing was written/),
  ]);
  expect(await accept('--yes')).toEqual([
    0,
    expect.stringContaining('the abandoned state had at least 6'),
    expect.stringMatching(/accepted/),
  ]);
  expect(await accept('--yes')).toEqual([9, '', expect.stringMatching(/no restore to accept/)]);

  await restart();
  expect(await append()).toEqual([200, undefined]);
  expect(await readReadiness()).toEqual({ status: 'ready' });
  const rows = await outputOf(['ledger', 'export', '--workspace', 'acme'], folder.environment);
  const accepted = JSON.parse(rows.split('\n')[3]!);
  expect(accepted).toMatchObject({
    action: 'ledger.restore_accepted',
    recorded_by: 'operator',
    metadata: { logs: { audit: { abandoned: { size: 6 }, restored: { size: 3 } } } },
  });
  expect(await outputOf(['ledger', 'verify', '--workspace', 'acme'], folder.environment)).toContain('valid: 5');
  expect(existsSync(backup)).toBe(false);
});

test('`restore` reports that the operator must accept the older state of a workspace', { timeout: 180_000 }, async () => {
  const backup = `${folder.path}-file`;
  await outputOf(['backup', '--output', backup], folder.environment);
  expect(await append()).toEqual([200, undefined]);
  await checkpoint();
  await stop();
  const secrets = `${folder.path}-secrets`;
  renameSync(`${folder.path}/secrets`, secrets);
  rmSync(folder.path, { recursive: true });

  const restore = () => new CommandProcess(['restore', '--input', backup], folder.environment);
  const refused = restore();
  expect([await refused.ended, refused.stderr]).toEqual([7, expect.stringContaining('master-secret is missing')]);
  expect(existsSync(folder.path)).toBe(false);
  mkdirSync(folder.path);
  renameSync(secrets, `${folder.path}/secrets`);
  const restored = restore();
  expect([await restored.ended, restored.stderr]).toEqual([
    0,
    expect.stringMatching(/does not continue from its checkpoint.*accept-restore/),
  ]);
  expect(await accept('--yes')).toEqual([0, expect.stringContaining('audit: continues from'), expect.stringMatching(/accepted/)]);

  await restart();
  expect(await append()).toEqual([200, undefined]);
  expect(await outputOf(['ledger', 'verify', '--workspace', 'acme'], folder.environment)).toMatch(/^valid/);
});
