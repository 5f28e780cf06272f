import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { databaseWithShiftedClock } from '../harness/shifted-clock.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

test('a check that is sent after a failing evaluation was acknowledged is blocked, even if it joins a batch that is already being decided', async () => {
  const database = await databaseWithShiftedClock();
  const [one, two] = [await testServer({ database }), await testServer({ database })];
  const tenantId = await one.workspace();
  const key = await one.key(tenantId);
  const evaluate = (server: TestServer, agent_name: string, result: object) =>
    server.post(paths.evaluations, key, { name: 'nightly', agent_name, ...result });
  const check = (server: TestServer, agent_name: string) => server.post(paths.promotionCheck, key, { agent_name });
  for (const agent of ['bot', 'other']) await evaluate(one, agent, { pass_rate: 100 });
  for (const server of [one, two, one, two]) await check(server, 'other'); // Both servers know that the other one decides checks too.
  // The decision log is ahead of the database's clock, so the next batch waits after it has read the evidence.
  await database.shiftClock('3 seconds');
  await check(two, 'other');
  await database.shiftClock('0');
  const waiting = check(one, 'other');
  await sleep(500);
  expect((await evaluate(two, 'bot', { pass_rate: 1, status: 'failing' })).status).toBe(200);
  expect((await check(one, 'bot')).body).toMatchObject({ allowed: false, reason: 'evaluation_not_passing' });
  expect((await waiting).body).toMatchObject({ allowed: true });
});
