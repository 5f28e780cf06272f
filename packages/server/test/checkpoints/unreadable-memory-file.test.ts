import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openMemoryFolder } from '../../src/checkpoints/memory-folder.ts';
import { makeCheckpoint } from '../../src/ledger/checkpoints.ts';
import { type HeadStore, setHeadStore } from '../../src/ledger/head-memory.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

/** Longer than the time between two checks of the memory folder by a server. */
const CHECK_WAIT_MS = 1_100;

const memoryDir = mkdtempSync(join(tmpdir(), 'countersign-unreadable-memory-'));
afterAll(() => rmSync(memoryDir, { recursive: true, force: true }));

let server: TestServer;
let store: HeadStore;
let tenantId: string;
let key: string;
const file = () => join(memoryDir, tenantId, 'audit.checkpoint');
const sign = () => makeCheckpoint(server.open.pool, tenantId, server.open.signer.keys, { log: 'audit' });
const append = async () => (await server.post(paths.audit, key, { actor: 'ci', action: 'deployed' })).status;
const appendTwice = async () => [await append(), await append()];

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  store = openMemoryFolder({ memoryDir, isMemoryDirConfigured: true }, () => undefined)!;
  setHeadStore(server.open.pool, store);
  tenantId = await server.workspace();
  key = await server.key(tenantId);
  expect(await append()).toBe(200);
  await sign();
});

test('while a file of the memory folder cannot be read, records are accepted and no checkpoint is signed', async () => {
  rmSync(file());
  mkdirSync(file()); // Reading it fails with EISDIR, even for root.
  await sleep(CHECK_WAIT_MS);
  expect(await appendTwice()).toEqual([200, 200]);
  await expect(sign()).rejects.toThrow(/cannot be read \(EISDIR\)/);
  rmSync(file(), { recursive: true });
  expect((await sign()).size).toBe(3);
});

test('a running server does not append to a log while its file in the memory folder is damaged', async () => {
  writeFileSync(file(), 'damaged');
  await sleep(CHECK_WAIT_MS);
  expect(await appendTwice()).toEqual([500, 500]);
  rmSync(file());
  expect(await appendTwice()).toEqual([200, 200]);
});

test('checkpoints that wait for an unresponsive file system occupy no database connection', async () => {
  let respond: () => void = () => undefined;
  const responded = new Promise<void>((resolve) => (respond = resolve));
  const latest: HeadStore['latest'] = (...args) => responded.then(() => store.latest(...args));
  setHeadStore(server.open.pool, { ...store, latest, hasChanged: () => false });
  const waiting = Array.from({ length: 50 }, sign);
  expect(await append()).toBe(200);
  respond();
  expect(new Set((await Promise.all(waiting)).map(({ size }) => size))).toEqual(new Set([6]));
});
