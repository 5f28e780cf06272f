import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openMemoryFolder } from '../../src/checkpoints/memory-folder.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { makeCheckpoint } from '../../src/ledger/checkpoints.ts';
import { setHeadStore } from '../../src/ledger/head-memory.ts';
import { readSealedHead } from '../../src/ledger/sealed-heads.ts';
import { LOG_NAMES, type LogName } from '../../src/storage/log-heads.ts';
import { revokeKey } from '../../src/workspace/ingestion-keys.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { Insider } from './insider.ts';

/** Longer than the interval at which a server checks the memory folder for changes. */
const RECHECK_MS = 1_100;

const memoryDir = mkdtempSync(join(tmpdir(), 'countersign-older-memory-'));
afterAll(() => rmSync(memoryDir, { recursive: true, force: true }));
const openStore = () => openMemoryFolder({ memoryDir, isMemoryDirConfigured: true }, () => undefined)!;

let first: TestServer;
let second: TestServer;
/** A server that has seen the same records as the first server, and does not check the memory folder for changes. */
let stale: TestServer;
/** Another server like `stale`. */
let otherStale: TestServer;
let insider: Insider;
let tenantId: string;
let key: string;

const evaluation = (pass_rate: number) => ({
  name: 'suite',
  agent_name: 'bot',
  status: pass_rate > 80 ? 'passing' : 'failing',
  pass_rate,
});
const append = (server: TestServer) => server.post(paths.audit, key, { actor: 'ci', action: 'deployed' });
const check = (server: TestServer) => server.post(paths.promotionCheck, key, { agent_name: 'bot' });
const sign = (server: TestServer, log: LogName) => makeCheckpoint(server.open.pool, tenantId, server.open.signer.keys, { log });
const statusAndError = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const REJECTED = [500, 'log_rewritten'];

/** Restores the logs as the first server has seen them. The second server has since appended to them and stored checkpoints. */
async function rollBack(): Promise<void> {
  await insider.undo();
  await insider.sql('DELETE FROM countersign.evidence_events WHERE $T AND seq > 2', tenantId);
}

beforeAll(async () => {
  first = await testServer({ checkpointSeconds: undefined });
  second = await testServer({ checkpointSeconds: undefined, database: first.database });
  stale = await testServer({ checkpointSeconds: undefined, database: first.database });
  for (const server of [first, second]) setHeadStore(server.open.pool, openStore());
  otherStale = await testServer({ checkpointSeconds: undefined, database: first.database });
  for (const server of [stale, otherStale]) setHeadStore(server.open.pool, { ...openStore(), hasChanged: () => false });
  tenantId = await first.workspace('rolled back');
  key = await first.key(tenantId);
  expect((await first.post(paths.evaluations, key, evaluation(95))).status).toBe(200);
  expect((await append(first)).status).toBe(200);
  expect((await check(first)).body.allowed).toBe(true);
  for (const server of [stale, otherStale]) await sign(server, 'audit');
  await first.database.sql('ALTER TABLE countersign.evidence_events DISABLE TRIGGER ALL');
  insider = await Insider.open(first.database);
  expect((await second.post(paths.evaluations, key, evaluation(1))).status).toBe(200);
  for (let count = 0; count < 3; count += 1) expect((await append(second)).status).toBe(200);
  for (const log of LOG_NAMES) await sign(second, log);
});
afterAll(() => insider.close());
beforeEach(rollBack);

test('a server signs no checkpoint of a log that is shorter than a checkpoint of another server', async () => {
  for (const log of ['audit', 'evidence'] as const) await expect(sign(first, log)).rejects.toThrow(/an older state was restored/);
});

test('a server neither appends to a log that is shorter than a checkpoint of another server, nor makes decisions from it', async () => {
  await sleep(RECHECK_MS);
  expect(statusAndError(await append(first))).toEqual(REJECTED);
  expect(statusAndError(await check(first))).toEqual(REJECTED);
});

test('a server signs no checkpoint of a fork with more rows than the checkpoint of another server, and then refuses the log', async () => {
  for (let count = 0; count < 6; count += 1) expect((await append(stale)).status).toBe(200);
  await expect(sign(stale, 'audit')).rejects.toThrow(/it does not continue the \d+ rows known before/);
  expect(statusAndError(await append(stale))).toEqual(REJECTED);
  expect(await (await fetch(`${stale.url}/readyz`)).text()).toContain('logs refused: 1');
});

test('a server still refuses a fork after the commit of a transaction that read the fork before it was refused', async () => {
  for (let count = 0; count < 6; count += 1) expect((await append(otherStale)).status).toBe(200);
  await inTenantTransaction(otherStale.open.pool, tenantId, async (tx) => {
    await readSealedHead(tx, 'audit');
    await expect(sign(otherStale, 'audit')).rejects.toThrow(/it does not continue the \d+ rows known before/);
  });
  expect(statusAndError(await append(otherStale))).toEqual(REJECTED);
});

test('a server does not accept a key that another server has revoked, after the revocation was rolled back', async () => {
  const { sql } = first.database;
  const otherKey = await first.key(tenantId);
  const sendWithKey = () => first.post(paths.telemetry, otherKey, { events: [{ trace_id: 'run', outcome: 'success' }] });
  expect((await sendWithKey()).status).toBe(200);
  await sign(first, 'keys');
  for (const table of ['key_events', 'ingestion_keys', 'log_heads', 'checkpoints']) {
    await sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
    await sql(`CREATE TABLE before.revoked_${table} AS SELECT * FROM countersign.${table} WHERE tenant_id = $1`, [tenantId]);
  }
  await revokeKey(second.open.pool, tenantId, parseIngestionKey(otherKey)!.prefix, 'operator');
  await sign(second, 'keys');
  for (const table of ['checkpoints', 'log_heads', 'key_events', 'ingestion_keys']) {
    await sql(`DELETE FROM countersign.${table} WHERE tenant_id = $1`, [tenantId]);
    await sql(`INSERT INTO countersign.${table} SELECT * FROM before.revoked_${table}`);
  }
  await sleep(RECHECK_MS);
  expect(statusAndError(await sendWithKey())).toEqual(REJECTED);
});

test('a server accepts no key after it has found that the key audit trail contradicts the checkpoint of another server', async () => {
  const { sql } = first.database;
  const id = await stale.workspace('forked keys');
  const otherKey = await stale.key(id);
  const sendWithKey = () => stale.post(paths.audit, otherKey, { actor: 'ci', action: 'deployed' });
  const signKeys = (server: TestServer) => makeCheckpoint(server.open.pool, id, server.open.signer.keys, { log: 'keys' });
  expect((await sendWithKey()).status).toBe(200);
  for (const table of ['key_events', 'ingestion_keys', 'log_heads', 'checkpoints']) {
    await sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
    await sql(`CREATE TABLE before.forked_${table} AS SELECT * FROM countersign.${table} WHERE tenant_id = $1`, [id]);
  }
  await revokeKey(second.open.pool, id, parseIngestionKey(otherKey)!.prefix, 'operator');
  await signKeys(second);
  for (const table of ['checkpoints', 'log_heads', 'key_events', 'ingestion_keys']) {
    await sql(`DELETE FROM countersign.${table} WHERE tenant_id = $1`, [id]);
    await sql(`INSERT INTO countersign.${table} SELECT * FROM before.forked_${table}`);
  }
  for (let count = 0; count < 3; count += 1) await stale.key(id); // The fork now has more events than the checkpoint.
  expect((await sendWithKey()).status).toBe(200);
  await expect(signKeys(stale)).rejects.toThrow(/it does not continue the \d+ rows known before/);
  expect(statusAndError(await sendWithKey())).toEqual(REJECTED);
});

test('a server continues a log after another server has appended to it and stored a checkpoint', async () => {
  const id = await first.workspace();
  const ownKey = await first.key(id);
  const appendTo = (server: TestServer) => server.post(paths.audit, ownKey, { actor: 'ci', action: 'deployed' });
  const signFor = (server: TestServer) => makeCheckpoint(server.open.pool, id, server.open.signer.keys, { log: 'audit' });
  expect((await appendTo(first)).status).toBe(200);
  for (const entryCount of [3, 300]) {
    await Promise.all(Array.from({ length: entryCount }, () => appendTo(second)));
    await signFor(second);
    expect((await appendTo(second)).status).toBe(200);
    await sleep(RECHECK_MS);
    expect((await appendTo(first)).status).toBe(200);
  }
  expect((await signFor(first)).size).toBe(308);
});
