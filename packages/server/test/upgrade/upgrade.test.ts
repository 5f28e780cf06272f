import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBackup } from '../../src/backup/backup-reader.ts';
import type { BackupManifest } from '../../src/backup/manifest.ts';
import { knownMigrations } from '../../src/database/migrate.ts';
import { socketUrl } from '../fixtures/process-environment.ts';
import { type CommandResult, runCommand, runForJson } from '../fixtures/run-command.ts';
import { ServerProcess } from '../fixtures/server-process.ts';
import { Browser } from '../harness/portal-browser.ts';
import { emptyDatabase, type TestDatabase } from '../harness/test-database.ts';
import { paths } from '../harness/test-server.ts';
import { DATABASES, type DatabaseFacts, LOGS, PASSPHRASE } from './released-databases.ts';

const VERSIONS = readdirSync(DATABASES)
  .filter((name) => name.endsWith('.backup'))
  .map((name) => name.replace(/\.backup$/, ''));

test('there are databases of released versions, with rows in every table except sign_in_attempts', async () => {
  expect(VERSIONS).toContain('0.1.0');
  for (const version of VERSIONS) {
    const { madeBy, tables } = await manifestOf(version);
    expect(madeBy).toBe(version);
    expect(tables.filter(({ rows }) => rows === 0).map(({ name }) => name)).toEqual(['sign_in_attempts']);
  }
});

async function manifestOf(version: string): Promise<BackupManifest> {
  const reader = await openBackup(join(DATABASES, `${version}.backup`));
  await reader.close();
  return reader.manifest;
}

describe.each(VERSIONS)('the upgrade of a database of version %s', (version) => {
  const facts = JSON.parse(readFileSync(join(DATABASES, `${version}.json`), 'utf8')) as DatabaseFacts;
  const scratch = mkdtempSync(join(tmpdir(), 'countersign-test-'));
  let database: TestDatabase;
  let environment: Record<string, string>;
  let restoreResult: CommandResult;
  let server: ServerProcess;
  let browser: Browser;
  /** The path of the workspace in the portal's API. */
  let acme: string;

  beforeAll(async () => {
    database = await emptyDatabase();
    const secrets = join(scratch, 'secrets');
    const addresses = { DATABASE_URL: socketUrl(database.server), COUNTERSIGN_MIGRATE_DATABASE_URL: socketUrl(database.owner) };
    const input = ['--input', join(DATABASES, `${version}.backup`), '--with-secrets', '--secrets-output', secrets];
    restoreResult = await runCommand({ ...addresses, COUNTERSIGN_BACKUP_PASSPHRASE: PASSPHRASE }, 'restore', ...input);
    environment = {
      ...addresses,
      COUNTERSIGN_MASTER_SECRET_FILE: join(secrets, 'master-secret'),
      COUNTERSIGN_SIGNING_KEY_FILE: join(secrets, 'signing-key.pem'),
      COUNTERSIGN_MEMORY_DIR: join(scratch, 'memory'),
    };
    server = await ServerProcess.start(environment);
    browser = new Browser(server);
  }, 120_000);

  afterAll(async () => {
    await server?.end('SIGTERM');
    await database?.drop();
    rmSync(scratch, { recursive: true, force: true });
  });

  const post = async (path: string, body: object, key = facts.key) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };

  test('every later migration runs, every log is valid, and the schema matches the current version', async () => {
    expect(restoreResult).toMatchObject({ status: 0, out: expect.stringMatching(/^valid: 10 logs/) });
    const applied = await database.sql<{ name: string }>('SELECT name FROM countersign.migrations ORDER BY name');
    expect(applied.map(({ name }) => name)).toEqual(knownMigrations());
    const { migrations } = await manifestOf(version);
    expect(migrations).toEqual(knownMigrations().slice(0, migrations.length));
    expect(await runForJson(environment, 'ledger', 'verify', '--workspace', 'acme', '--log', 'all')).not.toHaveProperty(
      'schema_findings',
    );
    expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ready' });
  });

  test.each(LOGS)('the log %s extends the checkpoint that was saved before the upgrade', async (log) => {
    const file = join(scratch, `${log}.checkpoint`);
    writeFileSync(file, facts.checkpoints[log]!);
    const options = ['--log', log, '--checkpoint', file, '--key', facts.verifyKey];
    const report = await runForJson(environment, 'ledger', 'verify', '--workspace', 'acme', ...options);
    expect(report).toMatchObject({ result: 'ok' });
  });

  test('a person signs in with their password and reads runs of all kinds', async () => {
    const { email, password } = facts;
    expect((await browser.call('POST', '/session', { email, password: `${password}!` })).status).toBe(401);
    expect((await browser.call('POST', '/session', { email, password })).status).toBe(200);
    const { body: session } = await browser.call('GET', '/session');
    acme = `/workspaces/${session.memberships[0].workspace.id}`;
    const { body: list } = await browser.call('GET', `${acme}/runs`);
    const traceIds = list.items.map(({ trace_id }: { trace_id: string }) => trace_id);
    expect(traceIds).toEqual(expect.arrayContaining(['merged', 'failed', 'evaluated', 'only telemetry', facts.otlpTrace]));
    expect(traceIds).not.toContain('erased');
    const { body: spans } = await browser.call('GET', `${acme}/runs/traces/${facts.runs.merged}/spans`);
    expect(spans.items.map(({ span_id, name }: Record<string, string>) => [span_id, name]).sort()).toEqual([
      ['a', 'plan'],
      ['b', 'look up again'],
      ['c', 'plan'],
    ]);
    const payloadPath = `${acme}/runs/traces/${facts.runs.evaluated}/payload?span_id=a`;
    expect((await browser.call('GET', payloadPath)).body).toMatchObject({
      payload: { messages: [{ role: 'user', content: 'Hello' }] },
    });
    const pathInSegment = `${acme}/runs/traces/${facts.runs['compressed 7']}/payload?span_id=a`;
    expect((await browser.call('GET', pathInSegment)).body).toMatchObject({ payload: { output: '7'.repeat(4_000) } });
    const { id } = list.items.find(({ trace_id }: { trace_id: string }) => trace_id === facts.otlpTrace);
    expect((await browser.call('GET', `${acme}/runs/traces/${id}`)).body).toMatchObject({ outcome: 'success' });
  });

  test('decisions remain, and promotion checks use what was recorded before and after the upgrade', async () => {
    const { body: list } = await browser.call('GET', `${acme}/decisions`);
    const decisions = list.items.map(({ id, allowed }: Record<string, unknown>) => ({ id, allowed })).reverse();
    expect(decisions).toEqual(facts.decisions);
    const checkPromotion = async (agent_name: string) => (await post(paths.promotionCheck, { agent_name })).body;
    // The re-certification of summary-agent was closed before the upgrade. The re-certification of refund-agent is still open.
    for (const agent_name of ['summary-agent', 'refund-agent'])
      expect(await post(paths.evaluations, { name: 'nightly', agent_name, pass_rate: 96 })).toMatchObject({ status: 200 });
    expect(await checkPromotion('summary-agent')).toMatchObject({ allowed: true });
    expect(await checkPromotion('refund-agent')).toMatchObject({ allowed: false });
  });

  test('keys and retention periods stay as they were, and a run accepts further steps', async () => {
    expect(await post(paths.audit, { actor: 'ci', action: 'test.ran' }, facts.revokedKey)).toMatchObject({ status: 401 });
    const step = { span_id: 'd', kind: 'llm', name: 'plan', prompt_tokens: 100, completion_tokens: 20 };
    const { status, body } = await post(paths.traces, { trace_id: 'merged', spans: [step] });
    expect([status, body]).toEqual([200, expect.objectContaining({ id: facts.runs.merged, tokens: 480 })]);
    const authorization = `Bearer ${facts.readToken}`;
    const ledger = await fetch(`${server.url}/api/ledger/audit/checkpoint`, { headers: { authorization } });
    expect([ledger.status, await ledger.text()]).toEqual([200, expect.stringContaining('countersign/')]);
    const period = await runForJson(environment, 'retention', 'show', '--workspace', 'acme');
    expect(JSON.stringify(period)).toContain('3650');
    expect(await runForJson(environment, 'ledger', 'verify', '--workspace', 'acme', '--log', 'all')).toMatchObject({
      result: 'ok',
    });
    expect(server.errorLogLines).toEqual([]);
  });
});
