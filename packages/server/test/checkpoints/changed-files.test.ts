import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ChangedFiles } from '../../src/checkpoints/changed-files.ts';
import { until } from './checkpoints-of-a-server.ts';

const LOOK_MS = 20;
const paths = Array.from({ length: 150 }, (_, index) => `file ${index}`);

test('every replaced file is found even if a slow file system needs more than a second to look at all files', async () => {
  const state = { stamp: 'first', lookMs: 0, looks: 0, running: 0, runningMax: 0 };
  const files = new ChangedFiles(async () => {
    state.looks += 1;
    state.runningMax = Math.max(state.runningMax, ++state.running);
    await sleep(state.lookMs);
    state.running -= 1;
    return state.stamp;
  });
  for (const path of paths) await files.read(path, async () => undefined);
  await sleep(1_100);
  Object.assign(state, { stamp: 'second', lookMs: LOOK_MS, looks: 0, runningMax: 0 });
  const found = new Set<string>();
  const lookAtMissing = (): Promise<unknown> =>
    Promise.all(paths.filter((path) => !found.has(path)).map(async (path) => (await files.hasChanged(path)) && found.add(path)));
  await lookAtMissing();
  expect(found.size).toBeLessThan(paths.length);
  // The looks that did not end in time continue, and a later call returns what they found.
  await until('every look has ended', () => state.looks === paths.length && state.running === 0);
  await lookAtMissing();
  expect([found.size, state.looks, state.runningMax]).toEqual([paths.length, paths.length, 2]);
});
