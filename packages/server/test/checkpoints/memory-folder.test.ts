import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { originOf } from '@countersign/core/domain/checkpoint';
import { toBase64 } from '@countersign/core/domain/signed-note';
import { afterAll, expect, test } from 'vitest';
import { ChangedFiles } from '../../src/checkpoints/changed-files.ts';
import { openMemoryFolder } from '../../src/checkpoints/memory-folder.ts';

const memoryDir = mkdtempSync(join(tmpdir(), 'countersign-memory-'));
afterAll(() => rmSync(memoryDir, { recursive: true, force: true }));

const tenantId = crypto.randomUUID();
const openStore = () => openMemoryFolder({ memoryDir, isMemoryDirConfigured: true }, () => undefined)!;
const checkpointOfSize = (size: number) => ({
  size,
  note: `${originOf(tenantId, 'audit')}\n${size}\n${toBase64(new Uint8Array(32))}\n\n`,
});
const latestSize = async () => (await openStore().latest(tenantId, 'audit'))?.size;

test('the memory folder keeps the largest checkpoint of several servers, unless the operator has accepted a restore', async () => {
  const [first, second] = [openStore(), openStore()];
  await first.write(tenantId, 'audit', checkpointOfSize(90));
  await second.write(tenantId, 'audit', checkpointOfSize(110));
  await first.write(tenantId, 'audit', checkpointOfSize(100));
  expect(await latestSize()).toBe(110);
  await first.write(tenantId, 'audit', checkpointOfSize(111));
  expect(await latestSize()).toBe(111);
  await openStore().write(tenantId, 'audit', checkpointOfSize(50), { isRestoreAccepted: true });
  expect(await latestSize()).toBe(50);
});

test('a server checks once a second whether another server has replaced a checkpoint in the memory folder', async () => {
  const [first, second] = [openStore(), openStore()];
  await first.latest(tenantId, 'keys');
  await second.write(tenantId, 'keys', checkpointOfSize(1));
  expect(await first.hasChanged(tenantId, 'keys')).toBe(false);
  await sleep(1_100);
  expect(await first.hasChanged(tenantId, 'keys')).toBe(true);
  expect(await first.hasChanged(tenantId, 'keys')).toBe(false);
});

test('a file system that does not respond delays one call of `hasChanged` by at most a second, and no later call', async () => {
  let release: (stamp: string) => void = () => undefined;
  const stamps: (string | Promise<string>)[] = ['first', 'first', new Promise<string>((resolve) => (release = resolve)), 'later'];
  const files = new ChangedFiles(async () => stamps.shift()!);
  for (const path of ['a', 'b']) await files.read(path, async () => undefined);
  await sleep(1_100);
  expect(await files.hasChanged('a')).toBe(false);
  expect(files.hasChanged('b')).toBe(false);
  release('first');
  await sleep(0);
  expect(await files.hasChanged('b')).toBe(true);
});
