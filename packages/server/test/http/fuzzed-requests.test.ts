import { beforeAll, expect, test } from 'vitest';
import { FuzzTally } from '../../../../attack/fuzzed-requests.ts';
import { Random } from '../../../../attack/random.ts';
import { type FuzzSubject, RequestFuzzer } from '../../../../attack/request-fuzzer.ts';
import { Caller } from '../../../../attack/requests.ts';
import { storeOneOfEach } from '../fixtures/one-of-each.ts';
import { createPerson } from '../harness/portal-browser.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

/**
 * The number of requests. For more, run `npm run attack -- --only fuzzed-requests --requests 100000`. Set
 * COUNTERSIGN_FUZZ_SEED to send the requests of an earlier run again.
 */
const REQUESTS = 4_000;
const SEED = Number(process.env.COUNTERSIGN_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
const SENDERS = 8;

let server: TestServer;
let subject: FuzzSubject;

beforeAll(async () => {
  server = await testServer();
  const tenantId = await server.workspace();
  const key = await server.key(tenantId);
  const cookie = (await createPerson(server, { [tenantId]: 'admin' })).browser.cookie!;
  const spareCookies: string[] = [];
  for (let createdCount = 0; createdCount < 10; createdCount += 1)
    spareCookies.push((await createPerson(server, { [tenantId]: 'viewer' })).browser.cookie!);
  const values = await storeOneOfEach({ url: server.url, tenantId, key, cookie }, 'fuzzed');
  subject = { tenantId, key, cookie, spareCookies, values, readToken: values.read_token! };
});

test(`${REQUESTS} fuzzed requests over every route all get a response, and no 5xx except 503 (COUNTERSIGN_FUZZ_SEED=${SEED})`, {
  timeout: 600_000,
}, async () => {
  const fuzzer = new RequestFuzzer(new Random(SEED), subject);
  const tally = new FuzzTally();
  const { hostname: host, port } = new URL(server.url);
  let sentCount = 0;
  const sendUntilDone = async () => {
    const caller = new Caller({ host, port: Number(port) });
    while (sentCount < REQUESTS) {
      sentCount += 1;
      const { route, bytes } = fuzzer.next();
      const { status } = await caller.send(bytes, 30_000);
      caller.close();
      tally.add(route, status, bytes);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sendUntilDone));
  expect(tally.unexpectedResponses).toEqual([]);
  expect(tally.count(0)).toBe(0);
  // More than half of the routes must accept a request. Otherwise, the requests would test little more than the validation.
  expect(tally.acceptingRoutes.size).toBeGreaterThan(fuzzer.routes.length / 2);
});
