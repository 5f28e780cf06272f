import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { databaseWithShiftedClock } from '../harness/shifted-clock.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

test('a failing evaluation blocks every promotion check that arrives later, even if a waiting batch has read older evidence', async () => {
  const database = await databaseWithShiftedClock();
  const [one, two] = [await testServer({ database }), await testServer({ database })];
  const tenantId = await one.workspace();
  const key = await one.key(tenantId);
  const evaluate = (server: TestServer, agent_name: string, result: object) =>
    server.post(paths.evaluations, key, { name: 'nightly', agent_name, ...result });
  const check = (server: TestServer, agent_name: string) => server.post(paths.promotionCheck, key, { agent_name });
  for (const agent of ['bot', 'other']) await evaluate(one, agent, { pass_rate: 100 });
  // After these checks, each server reads the log head in every batch, because the other server also moves this head.
  for (const server of [one, two, one, two]) await check(server, 'other');
  // Gives the last decision a time ahead of the database's clock. So the next batch waits after it has read the evidence.
  await database.shiftClock('3 seconds');
  await check(two, 'other');
  await database.shiftClock('0');
  const waitingCheck = check(one, 'other');
  await sleep(500);
  expect((await evaluate(two, 'bot', { pass_rate: 1, status: 'failing' })).status).toBe(200);
  expect((await check(one, 'bot')).body).toMatchObject({ allowed: false, reason: 'evaluation_not_passing' });
  expect((await waitingCheck).body).toMatchObject({ allowed: true });
});
