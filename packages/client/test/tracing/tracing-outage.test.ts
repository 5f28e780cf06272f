import { afterEach, describe, expect, test, vi } from 'vitest';
import { Countersign, CountersignError, type DroppedRun, type SendFailure, type TracingOptions } from '../../src/index.ts';
import { type FailingServer, failingServer, respond } from '../fixtures/failing-server.ts';

/** Each test starts its own server, because an abandoned request may arrive after the end of its test. */
let server: FailingServer;
afterEach(() => vi.restoreAllMocks());

/** A client with few and fast retries, a function that starts and ends a run, and what the callbacks received. */
function clientWithCallbacks(traces: TracingOptions = {}, options = {}) {
  const unsent: SendFailure[] = [];
  const dropped: DroppedRun[] = [];
  const client = new Countersign({
    baseUrl: server.url,
    apiKey: `aa_live_000000000000.${'x'.repeat(43)}`,
    retries: { attemptsMax: 2, pauseMs: 2 },
    traces: { onUnsent: (each) => unsent.push(each), onDropped: (each) => dropped.push(each), ...traces },
    ...options,
  });
  const endRun = (id: string, detail = '') => client.traces.start({ trace_id: id, detail }).end();
  return { client, endRun, unsent, dropped };
}
const respondAccepted = respond.good({ ok: true, id: 'a', trace_id: 'a', spans_ingested: 0, tokens: null, cost_usd: null });
const receivedIds = () => server.received.map(({ body }) => body.trace_id);

test('flush waits for all runs that ended before the call, even if a later run is sent first', async () => {
  server = await failingServer();
  const { client, endRun } = clientWithCallbacks();
  let respondToFirst = (): void => undefined;
  server.setHandlers((response, request) => {
    respondToFirst = () => respondAccepted(response, request);
  }, respondAccepted);
  void endRun('first');
  let isFlushed = false;
  const flushed = client.traces.flush().then(() => {
    isFlushed = true;
  });
  await expect.poll(() => server.received.length).toBe(1);
  await endRun('later');
  await expect.poll(() => client.traces.stats.sent).toBe(1);
  expect(isFlushed).toBe(false);
  respondToFirst();
  await flushed;
  expect(client.traces.stats).toMatchObject({ queued: 0, sent: 2 });
});

describe('runs while requests fail', () => {
  test('stay queued, call onUnsent and are sent later, each with its own Idempotency-Key', async () => {
    server = await failingServer();
    const { client, endRun, unsent, dropped } = clientWithCallbacks();
    vi.spyOn(Math, 'random').mockReturnValue(0);
    server.setHandlers(...Array.from({ length: 8 }, () => respond.drop), respondAccepted);
    const ended = [endRun('a'), endRun('b')];
    expect(await Promise.all(ended)).toMatchObject([{ ok: true }, { ok: true }]);
    expect(client.traces.stats).toEqual({ queued: 0, sent: 2, rejected: 0, dropped: 0 });
    expect(unsent[0]).toMatchObject({ error: { name: 'ConnectionError' }, queued: 2 });
    expect(new Set(server.received.map(({ key, body }) => `${key} ${body.trace_id}`)).size).toBe(2);
    expect(dropped).toEqual([]);
  });

  test('stay queued after the deadline of end(), and flush() sends them', async () => {
    server = await failingServer();
    const { client, endRun } = clientWithCallbacks({}, { deadlineMs: 60 });
    server.setHandlers(respond.drop);
    expect(await endRun('patient')).toBeUndefined();
    expect(client.traces.stats).toMatchObject({ queued: 1, dropped: 0 });
    server.setHandlers(respondAccepted);
    // On a busy machine, an attempt can take longer than the deadline.
    await expect.poll(() => client.flush().then(() => client.traces.stats)).toMatchObject({ queued: 0, sent: 1 });
    expect(new Set(receivedIds())).toEqual(new Set(['patient']));
  });

  test('are sent before the time in Retry-After by close(), but not by flush()', async () => {
    server = await failingServer();
    const { client, endRun } = clientWithCallbacks();
    server.setHandlers(respond.reject(429, 'rate_limited', { 'retry-after': '40' }), respondAccepted);
    void endRun('a');
    await client.flush();
    await client.flush();
    expect([server.received.length, client.traces.stats.queued]).toEqual([1, 1]);
    await client.close();
    expect(client.traces.stats).toMatchObject({ queued: 0, sent: 1 });
  });

  test('are limited by queueBytesMax: further runs are dropped and reported, and `traces.send` throws', async () => {
    server = await failingServer();
    const { client, endRun, dropped } = clientWithCallbacks({ queueBytesMax: 30_000 });
    server.setHandlers(respond.silence);
    void endRun('first', 'x'.repeat(10_000));
    expect(await endRun('second', 'y'.repeat(10_000))).toBeUndefined();
    expect(dropped).toMatchObject([{ count: 1, reason: 'queue_full', trace: { trace_id: 'second' } }]);
    await expect(client.traces.send({ trace_id: 'third', detail: 'z'.repeat(10_000) })).rejects.toThrow(CountersignError);
    expect(client.traces.stats).toMatchObject({ queued: 1, dropped: 1 });
    await client.close({ deadlineMs: 20 });
  });

  test('are sent by close(); runs that close() cannot send before its deadline, and runs that end later, are dropped', async () => {
    server = await failingServer();
    const recovering = clientWithCallbacks();
    server.setHandlers(respond.drop, respond.drop, respondAccepted);
    void recovering.endRun('kept');
    await expect.poll(() => recovering.unsent.length).toBe(1);
    await recovering.client.close();
    expect(recovering.client.traces.stats).toMatchObject({ queued: 0, sent: 1 });
    server = await failingServer();
    const { client, endRun, dropped } = clientWithCallbacks();
    server.setHandlers(respond.silence);
    const lostRun = endRun('lost');
    await client.close({ deadlineMs: 50 });
    expect(await lostRun).toBeUndefined();
    expect(await endRun('late')).toBeUndefined();
    expect(dropped.map(({ reason, trace }) => [reason, trace.trace_id])).toEqual([
      ['unsent', 'lost'],
      ['closed', 'late'],
    ]);
  });

  test('are sent by close() with the deadline NaN, as with the default deadline', async () => {
    server = await failingServer();
    const { client, endRun, dropped } = clientWithCallbacks({}, { retries: { attemptsMax: 5, pauseMs: 20 } });
    server.setHandlers(respond.drop, respond.drop, respondAccepted);
    void endRun('last');
    await client.close({ deadlineMs: Number.NaN });
    expect([client.traces.stats.sent, dropped]).toEqual([1, []]);
  });

  test('`traces.send` retries a trace after each of nine failures, and close() waits for it', async () => {
    server = await failingServer();
    const { client } = clientWithCallbacks({}, { retries: { pauseMs: 2 } });
    vi.spyOn(Math, 'random').mockReturnValue(0);
    server.setHandlers(...Array.from({ length: 9 }, () => respond.drop), respondAccepted);
    const sending = client.traces.send({ trace_id: 'sent' });
    await client.close();
    expect(server.received.length).toBe(10);
    expect(await sending).toMatchObject({ ok: true });
  });

  test('a run is dropped after three internal errors, and the run after it is sent', async () => {
    server = await failingServer();
    const { client, endRun, dropped } = clientWithCallbacks({ requestsMax: 1 });
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const fault = respond.reject(500, 'internal_error');
    server.setHandlers(fault, fault, fault, respondAccepted);
    const runs = [endRun('poison'), endRun('good')];
    for (let round = 0; round < 3; round += 1) await client.flush();
    expect(await Promise.all(runs)).toMatchObject([undefined, { ok: true }]);
    expect(dropped).toMatchObject([{ reason: 'refused', trace: { trace_id: 'poison' } }]);
  });
});
