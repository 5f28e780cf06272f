import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { openPool } from '../../src/database/pool.ts';
import { type AcknowledgedRequest, Callers } from '../fixtures/callers.ts';
import { ExternalPostgres } from '../fixtures/external-postgres.ts';
import type { Environment } from '../fixtures/process-environment.ts';
import { expectStored } from '../fixtures/records.ts';
import { newKey, outputOf } from '../fixtures/run-command.ts';
import { CommandProcess, DataFolder, ServerProcess } from '../fixtures/server-process.ts';
import { withSecret } from '../harness/sealed.ts';

const passphrase: Environment = { COUNTERSIGN_BACKUP_PASSPHRASE: 'correct horse battery' };
const [firstFolder, lastFolder] = [DataFolder.migrated(), new DataFolder()];
const scratch = mkdtempSync(join(tmpdir(), 'countersign-test-'));
const secrets = join(scratch, 'secrets');
let external: ExternalPostgres;
const servers: ServerProcess[] = [];

beforeAll(async () => {
  external = await ExternalPostgres.create();
});

afterAll(async () => {
  for (const server of servers) if (!server.hasEnded) await server.end('SIGTERM');
  await external?.remove();
  await Promise.all([firstFolder.clear(), lastFolder.clear()]);
  rmSync(scratch, { recursive: true, force: true });
});

async function serve(environment: Environment): Promise<ServerProcess> {
  const server = await ServerProcess.start(environment);
  servers.push(server);
  return server;
}

/** Runs `work` while callers send requests. Returns the requests that were acknowledged before `work` started. */
async function runDuringWrites(
  target: { url: string; key: string },
  work: () => Promise<void>,
): Promise<readonly AcknowledgedRequest[]> {
  const callers = new Callers(target, 4);
  await until('60 requests are acknowledged', () => callers.acknowledged.length >= 60);
  const acknowledgedBefore = callers.acknowledged.slice();
  await work();
  await sleep(200);
  await callers.stop();
  expect(callers.unexpectedResponses).toEqual([]);
  expect(callers.acknowledged.length).toBeGreaterThan(acknowledgedBefore.length);
  return acknowledgedBefore;
}

async function restore(input: string, environment: Environment, ...options: string[]): Promise<string> {
  const command = new CommandProcess(['restore', '--input', input, '--with-secrets', ...options], {
    ...passphrase,
    ...environment,
  });
  expect([await command.ended, command.stderr]).toEqual([0, expect.stringContaining('verifying the logs')]);
  expect(command.output).not.toContain(passphrase.COUNTERSIGN_BACKUP_PASSPHRASE);
  return command.stdout;
}

async function expectRecords(acknowledged: readonly AcknowledgedRequest[], tenantId: string): Promise<void> {
  const address = { connectionString: external.url('postgres', 'moved') };
  const pool = withSecret(openPool(address, { size: 2, name: 'test' }), readFileSync(join(secrets, 'master-secret'), 'utf8'));
  await expectStored(pool, tenantId, acknowledged).finally(() => pool.end());
}

test('a busy instance moves from the embedded PostgreSQL to an external one and back with valid logs', {
  timeout: 240_000,
}, async () => {
  const server = await serve(firstFolder.environment);
  const { key, tenantId } = await newKey(firstFolder.environment, 'acme');
  await newKey(firstFolder.environment, 'other'); // a second workspace, which has only a key
  const file = join(scratch, 'first.backup');
  const beforeMove = await runDuringWrites({ url: server.url, key }, async () => {
    const printed = await outputOf(['backup', '--output', file, '--with-secrets'], { ...firstFolder.environment, ...passphrase });
    expect(printed).toMatch(/^valid: 10 logs, \d+ rows$/);
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await server.end('SIGTERM')).toBe(0);

  await external.createRole('moved');
  await external.sql('CREATE DATABASE moved OWNER moved');
  const externalEnvironment: Environment = {
    DATABASE_URL: external.url('moved', 'moved'),
    COUNTERSIGN_MASTER_SECRET_FILE: join(secrets, 'master-secret'),
    COUNTERSIGN_SIGNING_KEY_FILE: join(secrets, 'signing-key.pem'),
  };
  const { DATABASE_URL } = externalEnvironment;
  expect(await restore(file, { DATABASE_URL: DATABASE_URL! }, '--secrets-output', secrets)).toMatch(/^valid: 10 logs/);
  expect(readdirSync(secrets).sort()).toEqual(['master-secret', 'signing-key.pem']);
  await expectRecords(beforeMove, tenantId);

  const moved = await serve(externalEnvironment);
  const folder = join(scratch, 'second');
  mkdirSync(folder);
  const afterMove = await runDuringWrites({ url: moved.url, key }, async () => {
    await outputOf(['backup', '--output', folder, '--with-secrets'], { ...externalEnvironment, ...passphrase });
  });
  expect(await moved.end('SIGTERM')).toBe(0);
  await expectRecords([...beforeMove, ...afterMove], tenantId);

  await restore(folder, lastFolder.environment);
  const lastServer = await serve(lastFolder.environment);
  expect(await outputOf(['ledger', 'verify', '--workspace', 'acme', '--log', 'all'], lastFolder.environment)).not.toMatch(
    /broken|warning/,
  );
  await runDuringWrites({ url: lastServer.url, key }, () => sleep(100));
  expect(await outputOf(['ledger', 'verify', '--workspace', 'acme', '--log', 'all'], lastFolder.environment)).not.toMatch(
    /broken|warning/,
  );
  const ledger = await outputOf(['ledger', 'export', '--workspace', 'acme'], lastFolder.environment);
  for (const { responseBody } of [...beforeMove, ...afterMove].filter(({ kind }) => kind === 'audit'))
    expect(ledger).toContain(responseBody.row_hash);
  expect([...server.errorLogLines, ...moved.errorLogLines, ...lastServer.errorLogLines]).toEqual([]);
});
