import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ClientOptions, Countersign, receiptOf } from '../../src/index.ts';
import { type FailingServer, failingServer, type RequestHandler, respond } from '../fixtures/failing-server.ts';

let server: FailingServer;
let warnings: Error[] = [];
const keepWarning = (warning: Error) => void warnings.push(warning);

beforeEach(async () => {
  warnings = [];
  process.on('warning', keepWarning);
  server = await failingServer();
});

afterEach(() => {
  process.off('warning', keepWarning);
  expect(warnings).toEqual([]);
});

const clientOf = (options: ClientOptions = {}) =>
  new Countersign({
    baseUrl: server.url,
    apiKey: 'aa_live_000000000000.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    ...options,
  });
const event = { trace_id: 'run-1', outcome: 'success' } as const;
const respondAfter =
  (ms: number, handler: RequestHandler): RequestHandler =>
  (response, request) =>
    void setTimeout(() => void handler(response, request), ms);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a time that is longer than a timer supports', () => {
  test('lets close() wait for the responses', async () => {
    const client = clientOf();
    server.setHandlers(respondAfter(200, respond.good()));
    client.telemetry.emit(event);
    void client.traces.start({ agent_name: 'bot' }).end();
    await client.close({ deadlineMs: Number.POSITIVE_INFINITY });
    expect([client.telemetry.stats.sent, client.traces.stats.sent]).toEqual([1, 1]);
  });

  test('lets an attempt take as long as the response needs', async () => {
    const limits = { timeoutMs: Number.POSITIVE_INFINITY, deadlineMs: Number.POSITIVE_INFINITY };
    server.setHandlers(respondAfter(200, respond.good()));
    const recorded = await clientOf(limits).evaluations.record({ name: 'nightly' }, { signal: AbortSignal.timeout(5000) });
    expect(receiptOf(recorded)?.attempts).toBe(1);
  });

  test('in Retry-After keeps events and runs queued without further requests', async () => {
    const client = clientOf({ logger: {}, telemetry: { flushIntervalMs: 10 } });
    server.setHandlers(respond.reject(429, 'rate_limited', { 'retry-after': '999999999' }));
    client.telemetry.emit(event);
    void client.traces.start({ agent_name: 'bot' }).end();
    await pause(500);
    expect([client.telemetry.stats.queued, client.traces.stats.queued, server.received.length]).toEqual([1, 1, 2]);
    await client.close({ deadlineMs: 50 });
  });
});
