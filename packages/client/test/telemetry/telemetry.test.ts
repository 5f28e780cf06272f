import { beforeAll, describe, expect, test } from 'vitest';
import { type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import {
  Countersign,
  type DroppedEvents,
  type RejectedEvent,
  type TelemetryEvent,
  type TelemetryOptions,
} from '../../src/index.ts';
import { countingFetch } from '../fixtures/counting-fetch.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

/** A client in its own workspace, its requests, and a function that reads the trace IDs of the stored events. */
async function clientOfNewWorkspace(telemetry: TelemetryOptions = {}) {
  const tenantId = await server.workspace();
  const { fetch, requests } = countingFetch();
  const client = new Countersign({ baseUrl: server.url, apiKey: await server.key(tenantId), fetch, telemetry });
  const readTraceIds = async () =>
    (
      await server.database.sql<{ trace_id: string }>(
        'SELECT trace_id FROM countersign.telemetry_events WHERE tenant_id = $1 ORDER BY trace_id',
        [tenantId],
      )
    ).map(({ trace_id }) => trace_id);
  return { client, requests, readTraceIds };
}

const event = (id: string | number, more: object = {}): TelemetryEvent => ({
  trace_id: `run-${id}`,
  outcome: 'success',
  ...more,
});
const ids = (count: number) => Array.from({ length: count }, (_, index) => `run-${index}`).sort();

describe('telemetry on the real server', () => {
  test('sends events in batches of 200, and flush() sends the rest', async () => {
    const { client, requests, readTraceIds } = await clientOfNewWorkspace();
    for (let index = 0; index < 450; index += 1) expect(client.telemetry.emit(event(index))).toBe(true);
    await client.telemetry.flush();
    expect(await readTraceIds()).toEqual(ids(450));
    expect(requests.map(({ body }) => body.events.length).sort()).toEqual([200, 200, 50]);
    expect(client.telemetry.stats).toEqual({ queued: 0, sent: 450, rejected: 0, dropped: 0 });
  });

  test('sends an incomplete batch after the flush interval', async () => {
    const { client, readTraceIds } = await clientOfNewWorkspace({ flushIntervalMs: 20 });
    client.telemetry.emit(event('late'));
    await expect.poll(readTraceIds).toEqual(['run-late']);
  });

  test('sends an event as it was when it was emitted, despite later changes', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const messages = [{ role: 'user', content: 'first' } as const];
    const reused = event('kept', { messages });
    client.telemetry.emit(reused);
    reused.trace_id = 'run-changed';
    messages.push({ role: 'user', content: 'first' });
    await client.telemetry.flush();
    expect(requests[0]?.body.events).toEqual([event('kept', { messages: [{ role: 'user', content: 'first' }] })]);
  });

  test('reports an invalid event with the paths of its errors and stores the rest of its batch', async () => {
    const rejected: RejectedEvent[] = [];
    const { client, readTraceIds, requests } = await clientOfNewWorkspace({ onRejected: (each) => rejected.push(each) });
    for (let index = 0; index < 30; index += 1)
      client.telemetry.emit(index === 17 ? event(index, { latency_ms: -1, external_user_id: 'a@b.example' }) : event(index));
    await client.telemetry.flush();
    expect(await readTraceIds()).toEqual(ids(30).filter((id) => id !== 'run-17'));
    expect(rejected).toMatchObject([
      {
        event: event(17, { latency_ms: -1 }),
        issues: [
          { path: '/latency_ms', code: 'too_small' },
          { path: '/external_user_id', code: 'personal_data' },
        ],
        requestId: expect.any(String),
      },
    ]);
    expect(requests.map(({ body }) => body.events.length)).toEqual([30, 29]);
    expect(new Set(requests.map(({ key }) => key)).size).toBe(2);
    expect(client.telemetry.stats).toEqual({ queued: 0, sent: 29, rejected: 1, dropped: 0 });
  });

  test('finds all invalid events, even if one response cannot list all of them', async () => {
    const rejected: unknown[] = [];
    const { client, readTraceIds } = await clientOfNewWorkspace({ onRejected: (each) => rejected.push(each.event) });
    for (let index = 0; index < 200; index += 1)
      client.telemetry.emit(index % 4 === 0 ? event(index) : event(index, { outcome: '' }));
    await client.telemetry.flush();
    expect((await readTraceIds()).length).toBe(50);
    expect(rejected.length).toBe(150);
  });

  test('finds an invalid event even if the response names no path', async () => {
    const rejected: { event: unknown; codes: string[] }[] = [];
    const onRejected = ({ event: invalidEvent, issues }: RejectedEvent) =>
      rejected.push({ event: invalidEvent, codes: issues.map(({ code }) => code) });
    const { client, readTraceIds } = await clientOfNewWorkspace({ onRejected });
    let deep: unknown[] = [];
    for (let level = 0; level < 1200; level += 1) deep = [deep];
    for (let index = 0; index < 20; index += 1)
      client.telemetry.emit(index === 11 ? event(index, { input: deep }) : event(index));
    await client.telemetry.flush();
    expect((await readTraceIds()).length).toBe(19);
    expect(rejected).toEqual([{ event: event(11, { input: deep }), codes: ['too_deep'] }]);
  });

  test('limits requests to 1 MB of UTF-8 and sends a larger event alone', async () => {
    const { client, requests, readTraceIds } = await clientOfNewWorkspace();
    for (let index = 0; index < 20; index += 1) client.telemetry.emit(event(index, { output: '語'.repeat(100_000) }));
    client.telemetry.emit(event(20, { output: 'x'.repeat(2_000_000) }));
    await client.telemetry.flush();
    expect((await readTraceIds()).length).toBe(21);
    expect(requests.filter(({ bytes }) => bytes > 1_000_000).map(({ body }) => body.events.length)).toEqual([1]);
    expect(Math.max(...requests.map(({ body }) => body.events.length))).toBeGreaterThan(1);
  });

  test('reports an event that is too large for any request as rejected, and stores the others', async () => {
    const codes: string[] = [];
    const { client, readTraceIds } = await clientOfNewWorkspace({
      batchBytesMax: 60_000_000,
      queueCharactersMax: 60_000_000,
      onRejected: ({ issues }) => codes.push(...issues.map(({ code }) => code)),
    });
    for (const id of ['a', 'b', 'c']) client.telemetry.emit(event(id, id === 'b' ? { output: 'x'.repeat(22_000_000) } : {}));
    await client.telemetry.flush();
    expect(await readTraceIds()).toEqual(['run-a', 'run-c']);
    expect(codes).toEqual(['size_limit']);
  });

  test('the end of `await using` sends queued events, and later events are dropped', async () => {
    const dropped: DroppedEvents[] = [];
    const { client, readTraceIds } = await clientOfNewWorkspace({ onDropped: (each) => dropped.push(each) });
    {
      await using closing = client;
      closing.telemetry.emit(event('last'));
    }
    expect(await readTraceIds()).toEqual(['run-last']);
    expect(client.telemetry.emit(event('too late'))).toBe(false);
    await client.close();
    expect(dropped).toEqual([{ count: 1, reason: 'closed' }]);
  });

  test('send() returns the response, or throws a ValidationError for an invalid event', async () => {
    const { client, readTraceIds } = await clientOfNewWorkspace();
    expect(await client.telemetry.send(event('one'))).toEqual({ ok: true, ingested: 1 });
    expect(await client.telemetry.send([event('two'), event('three')])).toEqual({ ok: true, ingested: 2 });
    await expect(client.telemetry.send({ ...event('x'), outcome: '' })).rejects.toMatchObject({ name: 'ValidationError' });
    expect((await readTraceIds()).length).toBe(3);
  });
});

describe('telemetry queue', () => {
  test('drops and counts events beyond its limit, and reports the dropped events of one burst together', async () => {
    const dropped: DroppedEvents[] = [];
    const { client, readTraceIds } = await clientOfNewWorkspace({ queueEventsMax: 10, onDropped: (each) => dropped.push(each) });
    const queued = ids(25).map((id) => client.telemetry.emit({ trace_id: id, outcome: 'success' }));
    expect(queued.filter((isQueued) => isQueued).length).toBe(10);
    await client.telemetry.flush();
    expect(dropped).toEqual([{ count: 15, reason: 'queue_full' }]);
    expect((await readTraceIds()).length).toBe(10);
    expect(client.telemetry.stats).toEqual({ queued: 0, sent: 10, rejected: 0, dropped: 15 });
  });

  test('also has a limit in characters', async () => {
    const { client } = await clientOfNewWorkspace({ queueCharactersMax: 1000, onDropped: () => undefined });
    expect(client.telemetry.emit(event('a', { detail: 'x'.repeat(800) }))).toBe(true);
    expect(client.telemetry.emit(event('b', { detail: 'x'.repeat(800) }))).toBe(false);
    await client.telemetry.flush();
    expect(client.telemetry.emit(event('c', { detail: 'x'.repeat(800) }))).toBe(true);
    await client.close();
  });

  test('never throws: it drops events that are not JSON objects, and ignores failing callbacks', async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const reported: DroppedEvents[] = [];
    const onDropped = (each: DroppedEvents) => {
      reported.push(each);
      throw new Error('the host is broken');
    };
    const { client, readTraceIds } = await clientOfNewWorkspace({
      onDropped,
      onRejected: (async () => Promise.reject(new Error('so too'))) as never,
    });
    const throwing = {
      get trace_id() {
        throw new Error('getter');
      },
    };
    for (const invalidEvent of [circle, { big: 1n }, throwing, 'text', undefined, null, 7, [event('listed')], () => 1])
      expect(client.telemetry.emit(invalidEvent as never)).toBe(false);
    client.telemetry.emit(event('good'));
    client.telemetry.emit({} as never);
    await client.telemetry.flush();
    expect(reported).toEqual([{ count: 9, reason: 'not_json' }]);
    expect(await readTraceIds()).toEqual(['run-good']);
  });
});
