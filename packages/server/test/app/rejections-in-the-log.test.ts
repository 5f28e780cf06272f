import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { httpText, sendRaw } from '../bad-input/raw-socket.ts';
import { createDatabaseEnvironment } from '../fixtures/cloned-database.ts';
import type { Environment } from '../fixtures/process-environment.ts';
import { newKey } from '../fixtures/run-command.ts';
import { ServerProcess } from '../fixtures/server-process.ts';
import { paths } from '../harness/test-server.ts';

let environment: Environment;
let server: ServerProcess;
let key: string;

beforeAll(async () => {
  environment = await createDatabaseEnvironment();
  server = await ServerProcess.start(environment);
  ({ key } = await newKey(environment, 'refused'));
});

afterAll(async () => {
  if (!server.hasEnded) await server.end('SIGTERM');
});

/** The number of responses with a status, according to the server's metrics. */
async function countResponses(status: number): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const matches = text.matchAll(new RegExp(`^countersign_http_requests_total\\{[^}]*status="${status}"[^}]*\\} (\\d+)$`, 'gm'));
  return [...matches].reduce((sum, [, count]) => sum + Number(count), 0);
}

const [JSON_BODY, CHUNKED] = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];

interface Line {
  level: number;
  msg: string;
  kind?: string;
  refused?: number;
  status?: number;
  endpoint?: string;
  reqId?: string;
}

/** The lines that the server has logged since it was ready. */
const lines = (): Line[] => {
  const all = server.stdout.split('\n').filter((line) => line.startsWith('{'));
  return all.slice(all.findIndex((line) => line.includes('"ready"')) + 1).map((line) => JSON.parse(line));
};
const rejectionLines = (kind: string): Line[] => lines().filter((line) => line.kind === kind);
const rejectionCount = (kind: string): number => rejectionLines(kind).reduce((sum, line) => sum + line.refused!, 0);

/** Sends a request many times on several connections and returns how many seconds that took. */
async function flood(text: string, times: number): Promise<number> {
  const startedAt = performance.now();
  const last = text.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
  for (let sentCount = 0; sentCount < times; sentCount += 500) {
    const each = Array.from({ length: 10 }, () => sendRaw(server.url, text.repeat(49) + last, { timeoutMs: 60_000 }));
    for (const responses of await Promise.all(each)) expect(responses.length).toBe(50);
  }
  return (performance.now() - startedAt) / 1000;
}

describe('rejected requests', () => {
  test('are counted in at most one log line per second and kind, with the ID and the endpoint of one of the requests', async () => {
    const postText = (wrongKey: string) =>
      httpText(`POST ${paths.audit} HTTP/1.1`, ['Host: x', `X-Service-Key: ${wrongKey}`, 'Content-Length: 0']);
    const getText = httpText('GET /api/nothing HTTP/1.1', ['Host: x']);
    const seconds = (await flood(postText('aa_live_0'), 2_000)) + (await flood(getText, 2_000));
    await until(
      'all requests are counted',
      () => rejectionCount('unauthorized') === 2_000 && rejectionCount('not_found') === 2_000,
    );
    for (const [kind, status] of [
      ['unauthorized', 401],
      ['not_found', 404],
    ] as const) {
      expect(rejectionLines(kind).length).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
      for (const line of rejectionLines(kind)) {
        expect(line).toMatchObject({ level: 30, status, reqId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
        expect(line.msg).toMatch(new RegExp(`^[\\d,]+ requests? rejected: ${kind}$`));
      }
    }
    expect(rejectionLines('unauthorized')[0]!.endpoint).toBe('appendAuditEntry');
    expect(lines().filter(({ msg }) => msg === 'response sent')).toEqual([]);
  });

  // These requests are rejected by Node's parser, the server's handler of raw sockets or the router, not by a handler of the API.
  test.each([
    ['text that is not HTTP', 'bad_request', 400, 'nonsense\r\n\r\n'],
    [
      'headers that are too large',
      'headers_too_large',
      431,
      httpText('GET / HTTP/1.1', ['Host: x', `X-Large: ${'x'.repeat(20_000)}`]),
    ],
    ['a proxy request', 'method_not_allowed', 405, httpText('CONNECT elsewhere:443 HTTP/1.1', ['Host: elsewhere:443'])],
    ['a path that cannot be decoded', 'bad_request', 400, httpText('GET /%zz HTTP/1.1', ['Host: x', 'Connection: close'])],
    [
      'a request with an invalid chunk in its body',
      'bad_request',
      400,
      () =>
        httpText(
          `POST ${paths.audit} HTTP/1.1`,
          ['Host: x', `X-Service-Key: ${key}`, JSON_BODY, CHUNKED],
          '5\r\n{"act\r\nnonsense\r\n',
        ),
    ],
  ] as const)('are counted once in the log and the metrics: %s', async (_what, kind, status, text) => {
    const [before, metricBefore] = [rejectionCount(kind), await countResponses(status)];
    const [response] = await sendRaw(server.url, typeof text === 'string' ? text : text());
    expect(response!.status).toBe(status);
    await until('the request is in the log', () => rejectionCount(kind) > before);
    await expect.poll(() => countResponses(status), { timeout: 10_000 }).toBe(metricBefore + 1);
    await sleep(1_500); // a duplicate line would follow within a second
    expect(rejectionCount(kind)).toBe(before + 1);
    const line = rejectionLines(kind).at(-1)!;
    expect(line).toMatchObject({ status, reqId: response!.headers.get('x-request-id') });
    expect(await countResponses(status)).toBe(metricBefore + 1);
  });

  test('are written to the log before the server exits', async () => {
    const before = rejectionCount('method_not_allowed');
    await fetch(server.url + paths.audit, { method: 'PUT' });
    await sleep(50);
    expect(await server.end('SIGTERM')).toBe(0);
    expect(rejectionCount('method_not_allowed')).toBe(before + 1);
    expect(lines().at(-1)).toMatchObject({ msg: 'stopped' });
  });
});

test('at level debug, the server logs one line per rejected request', async () => {
  const debugServer = await ServerProcess.start({ ...environment, COUNTERSIGN_LOG_LEVEL: 'debug' });
  for (let sentCount = 0; sentCount < 3; sentCount += 1) await fetch(`${debugServer.url}/api/nothing`);
  const responseLines = () =>
    debugServer.stdout.split('\n').filter((line) => line.includes('"response sent"') && line.includes('not_found'));
  await until('the lines are logged', () => responseLines().length === 3);
  expect(await debugServer.end('SIGTERM')).toBe(0);
});
