import type { Pool } from 'pg';
import { expect, test } from 'vitest';
import { isDatabaseUnavailable } from '../../src/database/pool.ts';
import { awaitKeyEvent } from '../../src/ledger/await-key-event.ts';

/** A database that returns these sizes of the key audit trail, one for each read. The last size is repeated. */
function poolOf(...sizes: number[]): Pool {
  const query = async () => ({ rows: [{ tenantId: 't', size: sizes.length > 1 ? sizes.shift() : sizes[0] }] });
  return { query } as unknown as Pool;
}

const waitTimes = { waitMs: 200, intervalMs: 1 };

test('awaitKeyEvent resolves when the key audit trail shows the event', async () => {
  await expect(awaitKeyEvent(poolOf(4, 4, 5), 't', 5, waitTimes)).resolves.toBeUndefined();
  await expect(awaitKeyEvent(poolOf(7), 't', 5, waitTimes)).resolves.toBeUndefined();
});

test('awaitKeyEvent fails with the error of an unavailable database if the node does not show the event in time', async () => {
  const error = await awaitKeyEvent(poolOf(4), 't', 5, waitTimes).catch((reason: unknown) => reason);
  expect(isDatabaseUnavailable(error)).toBe(true);
  expect(String(error)).toMatch(/committed, but a node of Citus has not applied it yet/);
});
