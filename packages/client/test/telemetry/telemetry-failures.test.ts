import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Countersign, type DroppedEvents, type SendFailure, type TelemetryOptions } from '../../src/index.ts';
import { type FailingServer, failingServer, respond } from '../fixtures/failing-server.ts';

/** Each test has its own server. On a shared server, a late retry of an earlier test could get a response meant for the current test. */
let server: FailingServer;

beforeEach(async () => {
  server = await failingServer();
});

/** A client with few and fast retries, a function that emits events, and what the callbacks received. */
function clientWithCallbacks(telemetry: TelemetryOptions = {}, options = {}) {
  const unsent: SendFailure[] = [];
  const dropped: DroppedEvents[] = [];
  const client = new Countersign({
    baseUrl: server.url,
    apiKey: 'aa_live_000000000000.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    retries: { attemptsMax: 2, pauseMs: 2 },
    telemetry: { onUnsent: (each) => unsent.push(each), onDropped: (each) => dropped.push(each), ...telemetry },
    ...options,
  });
  const emit = (...ids: (string | number)[]) => ids.map((id) => client.telemetry.emit({ trace_id: `${id}`, outcome: 'success' }));
  return { client, emit, unsent, dropped };
}

/** The trace IDs in each received request, separated by commas. */
const receivedIds = () =>
  server.received.map(({ body }) => body.events.map(({ trace_id }: { trace_id: string }) => trace_id).join());

test('flush waits for all events that were emitted before the call, even if a later event is sent first', async () => {
  const { client, emit } = clientWithCallbacks();
  let respondToFirst = (): void => undefined;
  server.setHandlers((response, request) => {
    respondToFirst = () => respond.good()(response, request);
  }, respond.good());
  emit('first');
  let isFlushed = false;
  const flushed = client.telemetry.flush().then(() => {
    isFlushed = true;
  });
  await expect.poll(() => server.received.length).toBe(1);
  emit('later');
  void client.telemetry.flush();
  await expect.poll(() => client.telemetry.stats.sent).toBe(1);
  expect(isFlushed).toBe(false);
  respondToFirst();
  await flushed;
  expect(client.telemetry.stats).toMatchObject({ queued: 0, sent: 2 });
});

describe('telemetry while requests fail', () => {
  test('stays queued, calls onUnsent and is sent later as the same batch with the same Idempotency-Key', async () => {
    const { client, emit, unsent, dropped } = clientWithCallbacks({ requestsMax: 1 });
    server.setHandlers(respond.drop, respond.reset, respond.reject(503, 'unavailable'), respond.drop, respond.good());
    emit('a', 'b');
    await client.telemetry.flush();
    expect(client.telemetry.stats).toMatchObject({ queued: 2, sent: 0 });
    emit('c');
    await client.telemetry.flush();
    expect(unsent.map(({ queued, error }) => [queued, error.name])).toEqual([
      [2, 'ConnectionError'],
      [3, 'ConnectionError'],
    ]);
    await client.telemetry.flush();
    expect(client.telemetry.stats).toEqual({ queued: 0, sent: 3, rejected: 0, dropped: 0 });
    expect(receivedIds().sort()).toEqual(['a,b', 'a,b', 'a,b', 'a,b', 'a,b', 'c']);
    expect(new Set(server.received.map(({ key }) => key)).size).toBe(2);
    expect(dropped).toEqual([]);
  });

  test('is retried without a call of flush()', async () => {
    const { client, emit } = clientWithCallbacks({ flushIntervalMs: 10 });
    vi.spyOn(Math, 'random').mockReturnValue(0);
    server.setHandlers(respond.drop, respond.drop, respond.good());
    emit('alone');
    await expect.poll(() => client.telemetry.stats.sent, { timeout: 5000 }).toBe(1);
    vi.restoreAllMocks();
  });

  test('is retried within a second after an outage, although many concurrent requests failed', async () => {
    const { client, emit } = clientWithCallbacks({ batchEventsMax: 1 }, { retries: { attemptsMax: 1 } });
    server.setHandlers(...Array(16).fill(respond.drop), respond.good());
    emit(...Array.from({ length: 16 }, (_, index) => index));
    await expect.poll(() => client.telemetry.stats.sent, { timeout: 5000 }).toBe(16);
  });

  test('is retried after the pause if its batch is full, although the flush interval is longer', async () => {
    const { client, emit } = clientWithCallbacks({ batchEventsMax: 1, flushIntervalMs: 60_000 });
    server.setHandlers(respond.drop, respond.drop, respond.good());
    emit('full');
    await expect.poll(() => client.telemetry.stats.sent, { timeout: 5000 }).toBe(1);
  });

  test('is sent after the flush interval when the success of another request ends a long pause', async () => {
    const { client, emit, unsent } = clientWithCallbacks({ batchEventsMax: 2, flushIntervalMs: 50 });
    let respondToFirst = (): void => undefined;
    server.setHandlers(
      (response, request) => {
        respondToFirst = () => respond.good()(response, request);
      },
      respond.reject(503, 'unavailable', { 'retry-after': '40' }),
      respond.good(),
    );
    emit('a', 'b');
    await expect.poll(() => server.received.length).toBe(1);
    emit('c', 'd');
    await expect.poll(() => unsent.length).toBe(1);
    await sleep(100);
    emit('e');
    respondToFirst();
    await expect.poll(() => client.telemetry.stats.sent, { timeout: 5000 }).toBe(5);
  });

  test('is sent before the time in Retry-After by close(), but not by flush()', async () => {
    const { client, emit } = clientWithCallbacks();
    server.setHandlers(respond.reject(429, 'rate_limited', { 'retry-after': '40' }), respond.good());
    emit('a');
    await client.telemetry.flush();
    await client.telemetry.flush();
    expect([server.received.length, client.telemetry.stats.queued]).toEqual([1, 1]);
    await client.close();
    expect(client.telemetry.stats).toMatchObject({ queued: 0, sent: 1 });
  });

  test('causes at most requestsMax requests and their retries, and stays queued', async () => {
    const { client, emit } = clientWithCallbacks({ batchEventsMax: 1, requestsMax: 2 });
    server.setHandlers(respond.reject(503, 'unavailable'));
    emit(...Array.from({ length: 50 }, (_, index) => index));
    await client.telemetry.flush();
    expect(server.received.length).toBeLessThanOrEqual(4);
    expect(client.telemetry.stats.queued).toBe(50);
    await client.close({ deadlineMs: 50 });
  });

  test('is sent by close() with the deadline NaN, as with the default deadline', async () => {
    const { client, emit, dropped } = clientWithCallbacks({}, { retries: { attemptsMax: 5, pauseMs: 20 } });
    server.setHandlers(respond.drop, respond.drop, respond.good());
    emit('last');
    await client.close({ deadlineMs: Number.NaN });
    expect([client.telemetry.stats.sent, dropped]).toEqual([1, []]);
  });

  test('stays queued when the key is rejected, because the key may be rotated', async () => {
    const { client, emit, unsent } = clientWithCallbacks();
    server.setHandlers(respond.reject(401, 'unauthorized'), respond.good());
    emit('a');
    await client.telemetry.flush();
    expect(unsent).toMatchObject([{ error: { name: 'AuthenticationError' }, queued: 1 }]);
    await client.telemetry.flush();
    expect(client.telemetry.stats).toMatchObject({ queued: 0, sent: 1 });
  });

  test.each([
    [421, 'wrong_host'],
    [431, 'headers_too_large'],
  ])(
    'stays queued after any number of responses with %d %s, because this status does not depend on the events',
    async (status, code) => {
      const { client, emit, dropped } = clientWithCallbacks();
      server.setHandlers(respond.reject(status, code));
      emit('a');
      for (let round = 0; round < 4; round += 1) await client.telemetry.flush();
      expect([client.telemetry.stats.queued, dropped]).toEqual([1, []]);
      server.setHandlers(respond.good());
      await client.telemetry.flush();
      expect(client.telemetry.stats).toMatchObject({ queued: 0, sent: 1 });
    },
  );

  test('is dropped after three internal errors, and the next batch is sent', async () => {
    const { client, emit, unsent, dropped } = clientWithCallbacks({ requestsMax: 1 });
    server.setHandlers(...Array(3).fill(respond.reject(500, 'internal_error')), respond.good());
    emit('poison');
    await client.telemetry.flush();
    await client.telemetry.flush();
    await client.telemetry.flush();
    expect(dropped).toEqual([{ count: 1, reason: 'refused' }]);
    expect(unsent.map(({ queued }) => queued)).toEqual([1, 1]);
    emit('next');
    await client.telemetry.flush();
    expect(client.telemetry.stats).toEqual({ queued: 0, sent: 1, rejected: 0, dropped: 1 });
  });

  test('is dropped by close() at its deadline, and close() does not reject', async () => {
    const { client, emit, dropped } = clientWithCallbacks({}, { timeoutMs: 10_000 });
    server.setHandlers(respond.silence);
    emit('a', 'b', 'c');
    const startedAt = performance.now();
    await client.close({ deadlineMs: 60 });
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(dropped).toEqual([{ count: 3, reason: 'unsent' }]);
    expect(client.telemetry.stats).toEqual({ queued: 0, sent: 0, rejected: 0, dropped: 3 });
  });

  test('without callbacks, is reported by one warning for queued events and one for dropped events', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const { client, emit } = clientWithCallbacks({ onUnsent: undefined, onDropped: undefined });
    server.setHandlers(respond.drop);
    for (let round = 0; round < 3; round += 1) {
      emit('a');
      await client.telemetry.flush();
    }
    await client.close({ deadlineMs: 50 });
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(/^countersign: 1 telemetry event is queued: .*cannot be reached/),
      expect.stringMatching(/^countersign: 3 telemetry events were dropped: unsent/),
    ]);
    warn.mockRestore();
  });
});

describe('a process that exits', () => {
  const runEmitter = (...args: string[]) =>
    promisify(execFile)(
      process.execPath,
      [fileURLToPath(new URL('../fixtures/emit-and-end.ts', import.meta.url)), server.url, ...args],
      {
        timeout: 20_000,
      },
    );

  test('sends queued events first, despite temporary failures', async () => {
    server.setHandlers(respond.drop, respond.reject(503, 'unavailable'), respond.good());
    expect((await runEmitter('3')).stderr).toBe('');
    expect(receivedIds()).toEqual(['0,1,2', '0,1,2', '0,1,2']);
  });

  test('sends a run that was not ended, with the outcome failure and its spans', async () => {
    server.setHandlers(respond.good());
    await runEmitter('0', '10000', 'forgotten');
    expect(server.received.map(({ body }) => body)).toMatchObject([
      { trace_id: 'forgotten', outcome: 'failure', error: 'the run was not ended', spans: [{ name: 'done' }] },
    ]);
  });

  test('exits without a request if no events are queued', async () => {
    server.setHandlers(respond.good());
    await runEmitter('0');
    expect(server.received).toEqual([]);
  });

  test('exits although events cannot be sent, and reports how many are lost', async () => {
    server.setHandlers(respond.silence);
    const { stderr } = await runEmitter('2', '100');
    expect(stderr).toContain('2 telemetry events were dropped: unsent');
  });

  test('exits after the exit deadline, although a run was not ended and cannot be sent', async () => {
    server.setHandlers(respond.silence);
    const { stderr } = await runEmitter('0', '100', 'forgotten');
    expect(stderr).toContain('a run was dropped: unsent');
  });
});
