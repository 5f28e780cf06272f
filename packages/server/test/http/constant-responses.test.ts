import { beforeAll, describe, expect, test } from 'vitest';
import { sharedResult } from '../../src/http/shared-result.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer({ options: { metricsRenderMs: 60_000 } });
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') => fetch(server.url + path, { method, headers });

describe.each(['/openapi.json', '/docs'])('%s', (path) => {
  test('is cacheable: GET and HEAD return Cache-Control and an ETag', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await get(path, {}, method);
      expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
      expect(headers.get('etag')).toMatch(/^"[\w-]{22}"$/);
      expect(Number(headers.get('content-length'))).toBeGreaterThan(10_000);
    }
  });

  test('responds with an empty 304 if If-None-Match matches its ETag, and otherwise with 200', async () => {
    const etag = (await get(path)).headers.get('etag')!;
    for (const ifNoneMatch of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await get(path, { 'if-none-match': ifNoneMatch });
      expect([ifNoneMatch, response.status, response.headers.get('etag'), await response.text()]).toEqual([
        ifNoneMatch,
        304,
        etag,
        '',
      ]);
    }
    for (const ifNoneMatch of ['"other"', etag.replaceAll('"', '')])
      expect([ifNoneMatch, (await get(path, { 'if-none-match': ifNoneMatch })).status]).toEqual([ifNoneMatch, 200]);
  });
});

test('the server renders /metrics once within the maximum age, and for each request if the maximum age is 0', async () => {
  const [first, second] = [await (await get('/metrics')).text(), await (await get('/metrics')).text()];
  expect(second).toBe(first);
  const uncached = await testServer({ database: server.database });
  const countedRequests = async () => (await (await fetch(`${uncached.url}/metrics`)).text()).match(/status="200"} \d+/)?.[0];
  expect([await countedRequests(), await countedRequests()]).toEqual([undefined, 'status="200"} 1']);
});

describe('sharedResult', () => {
  test('computes once for concurrent calls and again after the maximum age', async () => {
    let computationCount = 0;
    const next = sharedResult(0, async () => ++computationCount);
    expect(await Promise.all([next(), next(), next()])).toEqual([1, 1, 1]);
    expect(await next()).toBe(2);
  });

  test('computes again after a failure', async () => {
    let computationCount = 0;
    const next = sharedResult(60_000, async () => {
      computationCount += 1;
      if (computationCount === 1) throw new Error('the first one fails');
      return computationCount;
    });
    expect((await Promise.allSettled([next(), next()])).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect([await next(), await next()]).toEqual([2, 2]);
  });
});
