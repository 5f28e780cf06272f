import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, inflateSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { storedDocuments } from '../harness/stored-documents.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';
import { type FuzzedExport, fuzzedExports } from './fuzzed-exports.ts';
import { type ExportResponse, exporter, PROTOBUF, partialSuccessOf, statusOf } from './sending.ts';
import { chatRun, newTrace, protobufExport } from './test-exports.ts';

/** COUNTERSIGN_FUZZ_RUNS sets the number of requests. COUNTERSIGN_FUZZ_SEED repeats the requests of an earlier run. */
const RUNS = Number(process.env.COUNTERSIGN_FUZZ_RUNS ?? 4000);
const SEED = Number(process.env.COUNTERSIGN_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** The largest number of requests to one workspace. */
const ROUND_REQUESTS = 1000;
const SENDERS = 16;
const RPC_CODES: Readonly<Record<number, number>> = { 400: 3, 401: 16, 413: 3, 415: 3, 503: 14 };

let server: TestServer;
const statuses = new Map<number, number>();

beforeAll(async () => {
  server = await testServer();
});

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The body of the request after decompression. */
function decompressedBody({ headers, body }: FuzzedExport): Uint8Array {
  const encoding = headers['content-encoding'];
  return encoding === 'gzip' ? gunzipSync(body) : encoding === 'deflate' ? inflateSync(body) : body;
}

/** Checks the response to a request. The message of a failure contains the path and the start of the body. */
function checkResponse(request: FuzzedExport, response: ExportResponse): void {
  const description = `${request.what} to ${request.path}: ${Buffer.from(request.body.subarray(0, 2000)).toString('base64')}`;
  expect([...request.statuses, 503], description).toContain(response.status);
  const requestType = request.headers['content-type']!;
  const isOtlp = ['application/x-protobuf', 'application/json'].includes(requestType);
  expect(response.headers.get('content-type'), description).toBe(isOtlp ? requestType : 'application/json');
  if (response.status === 200) {
    const { rejected, message } = partialSuccessOf(response);
    if (rejected > 0) expect(message, description).not.toBe('');
    return;
  }
  const { code, message } = statusOf(response);
  expect(code, description).toBe(RPC_CODES[response.status]);
  expect(message, description).not.toBe('');
  if (response.status === 503) expect(response.headers.get('retry-after'), description).toMatch(/^\d+$/);
}

/** Sends all requests of a round to a new workspace. Only bodies that got the response 200 may be stored. */
async function runRound(seed: number, count: number): Promise<void> {
  const workspace = await server.workspace();
  const { send } = exporter(server, await server.key(workspace));
  const requests = fuzzedExports(seed, count);
  const accepted = new Set<string>();
  const sendNext = async (): Promise<void> => {
    for (let request = requests.pop(); request !== undefined; request = requests.pop()) {
      const response = await send(request.body, request.headers, request.path);
      checkResponse(request, response);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.status === 200) accepted.add(sha256(decompressedBody(request)));
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sendNext));
  const stored = await storedDocuments(server.database.sql, 'otlp_exports', workspace);
  expect(stored.length).toBeGreaterThan(0);
  expect(stored.map(sha256).filter((each) => !accepted.has(each))).toEqual([]);
}

/** Sends valid exports to another workspace until `stop` is called, which returns the sorted latencies in milliseconds. */
function startOtherSender(send: ReturnType<typeof exporter>['send']) {
  let isStopped = false;
  const latencies: number[] = [];
  const done = (async () => {
    while (!isStopped) {
      const begin = performance.now();
      expect((await send(protobufExport(chatRun(newTrace())), PROTOBUF)).status).toBe(200);
      latencies.push(performance.now() - begin);
      await sleep(5);
    }
  })();
  return {
    stop: async () => {
      isStopped = true;
      await done;
      return latencies.sort((left, right) => left - right);
    },
  };
}

test(`the server responds to fuzzed exports as OTLP requires, stores only accepted ones and serves other senders (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const workspace = await server.workspace();
  const other = startOtherSender(exporter(server, await server.key(workspace)).send);
  for (let sentCount = 0; sentCount < RUNS; sentCount += ROUND_REQUESTS)
    await runRound(SEED + sentCount, Math.min(ROUND_REQUESTS, RUNS - sentCount));
  const latencies = await other.stop();
  // Every kind of response must occur, so that it is checked. Only 503 may be missing.
  expect([...statuses.keys()].sort()).toEqual(expect.arrayContaining([200, 400, 401, 413, 415]));
  expect(latencies.at(-1)).toBeLessThan(5000);
  const [row] = await server.database.sql('SELECT count(*)::int AS n FROM countersign.traces WHERE tenant_id = $1', [workspace]);
  expect(row).toEqual({ n: latencies.length });
  if (process.env.COUNTERSIGN_FUZZ_RUNS !== undefined) {
    const p99 = latencies[Math.floor(latencies.length * 0.99)]!;
    process.stderr.write(
      `${JSON.stringify({ seed: SEED, statuses: Object.fromEntries(statuses), others: latencies.length, p99 })}\n`,
    );
  }
});
