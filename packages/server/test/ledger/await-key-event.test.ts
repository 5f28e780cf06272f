import type { Pool } from 'pg';
import { expect, test } from 'vitest';
import { isDatabaseAway } from '../../src/database/pool.ts';
import { awaitKeyEvent } from '../../src/ledger/await-key-event.ts';

/** A database whose trail has these sizes at one reading after the other. The last one remains. */
function poolOf(...sizes: number[]): Pool {
  const query = async () => ({ rows: [{ tenantId: 't', size: sizes.length > 1 ? sizes.shift() : sizes[0] }] });
  return { query } as unknown as Pool;
}

const patience = { waitMs: 200, everyMs: 1 };

test('a change of a key is acknowledged once the trail shows its event', async () => {
  await expect(awaitKeyEvent(poolOf(4, 4, 5), 't', 5, patience)).resolves.toBeUndefined();
  await expect(awaitKeyEvent(poolOf(7), 't', 5, patience)).resolves.toBeUndefined();
});

test('a change of a key that its node does not show in time has an unknown outcome, and says so', async () => {
  const error = await awaitKeyEvent(poolOf(4), 't', 5, patience).catch((reason: unknown) => reason);
  expect(isDatabaseAway(error)).toBe(true);
  expect(String(error)).toMatch(/committed, but a node of Citus has not applied it yet/);
});
