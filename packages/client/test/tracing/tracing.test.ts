import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import {
  type ClientOptions,
  Countersign,
  type DroppedRun,
  type RejectedRun,
  type Span,
  type Trace,
  tokenUsage,
  ValidationError,
} from '../../src/index.ts';
import { synchronousStorage } from '../../src/tracing/span-context.ts';
import { traceRequests } from '../../src/tracing/trace-requests.ts';
import { countingFetch } from '../fixtures/counting-fetch.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

/** A client in its own workspace, its requests, and what the callbacks received. */
async function clientOfNewWorkspace(options: Partial<ClientOptions> = {}) {
  const tenantId = await server.workspace();
  const { fetch, requests } = countingFetch();
  const rejected: RejectedRun[] = [];
  const dropped: DroppedRun[] = [];
  const client = new Countersign({
    baseUrl: server.url,
    apiKey: await server.key(tenantId),
    fetch,
    ...options,
    traces: { onRejected: (each) => rejected.push(each), onDropped: (each) => dropped.push(each), ...options.traces },
  });
  return { client, requests, rejected, dropped };
}

/** The names of the spans of a trace, each with the name of its parent. */
const namesWithParents = ({ spans }: Trace) =>
  spans!.map((span) => [span.name, spans!.find(({ span_id }) => span_id === span.parent_span_id)?.name]);
const llm = (name: string) => ({ kind: 'llm', name }) as const;

describe('a run', () => {
  test('is sent with the times and contents of its spans, and the service sums their tokens', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const run = client.traces.start({ agent_name: 'support-bot', session_id: 'session-7' });
    const plan = run.startSpan({ ...llm('plan'), model: 'gpt-4o', provider: 'openai' });
    plan.messages([{ role: 'user', content: 'Where is my order?' }]).usage({ prompt_tokens: 812, completion_tokens: 64 });
    await sleep(15);
    plan.end({ output: 'find_order' });
    const result = await run.span({ kind: 'tool', name: 'find_order', tool_arguments: { id: 7 } }, async (span) => {
      span.set({ tool_result: { status: 'shipped' } });
      return 'shipped';
    });
    expect(result).toBe('shipped');
    expect(await run.end({ outcome: 'success' })).toMatchObject({ trace_id: run.traceId, spans_ingested: 2, tokens: 876 });
    const body: Trace = requests[0]!.body;
    expect(body).toMatchObject({ outcome: 'success', agent_name: 'support-bot', session_id: 'session-7' });
    const [first, second] = body.spans as [Span, Span];
    expect(first).toMatchObject({ model: 'gpt-4o', output: 'find_order', messages: [{ role: 'user' }] });
    expect(first.latency_ms).toBeGreaterThanOrEqual(10);
    expect(Date.parse(first.ended_at!) - Date.parse(first.started_at!)).toBe(first.latency_ms);
    expect(second).toMatchObject({ tool_arguments: { id: 7 }, tool_result: { status: 'shipped' } });
    expect(body.latency_ms).toBeGreaterThanOrEqual(first.latency_ms!);
  });

  test('nests spans explicitly and through AsyncLocalStorage', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const callModel = (name: string) => client.traces.span(llm(name), async () => sleep(1));
    await client.traces.run({ agent_name: 'bot' }, async (run) => {
      await callModel('at the top');
      await run.span({ kind: 'agent', name: 'agent' }, async (agent) => {
        await sleep(1);
        expect(client.traces.current()).toBe(agent);
        await Promise.all([callModel('left'), run.span({ kind: 'tool', name: 'tool' }, () => callModel('right'))]);
        agent.span(llm('by hand'), () => undefined);
      });
      expect(client.traces.current()).toBeUndefined();
    });
    await client.flush();
    expect(namesWithParents(requests[0]!.body)).toEqual([
      ['at the top', undefined],
      ['agent', undefined],
      ['left', 'agent'],
      ['tool', 'agent'],
      ['right', 'tool'],
      ['by hand', 'agent'],
    ]);
  });

  test('does not mix its spans with those of concurrent runs', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const recordRun = (name: string) =>
      client.traces.run({ agent_name: name }, async () => {
        for (let step = 0; step < 3; step += 1) await client.traces.span(llm(`${name}-${step}`), () => sleep(Math.random() * 5));
      });
    await Promise.all(['a', 'b', 'c'].map(recordRun));
    await client.flush();
    for (const { body } of requests)
      expect(namesWithParents(body)).toEqual([0, 1, 2].map((step) => [`${body.agent_name}-${step}`, undefined]));
    expect(requests.length).toBe(3);
  });

  test('can be continued with its trace ID and the ID of a parent span, for example by another process', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const run = client.traces.start({ agent_name: 'bot' });
    const caller = run.startSpan({ kind: 'agent', name: 'caller' });
    const continued = client.traces.start({ agent_name: 'bot', trace_id: run.traceId, parent_span_id: caller.id });
    continued.span(llm('callee'), () => undefined);
    const first = await continued.end();
    caller.end();
    expect(await run.end()).toMatchObject({ id: first!.id, trace_id: run.traceId });
    expect(requests[0]!.body.spans[0].parent_span_id).toBe(caller.id);
  });

  test('records an exception of a span in the span and in the run, and rethrows it', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const thrown = new TypeError('no such order');
    const run = client.traces.run({ agent_name: 'bot' }, () =>
      client.traces.span({ kind: 'tool', name: 'find_order' }, async () => {
        throw thrown;
      }),
    );
    await expect(run).rejects.toBe(thrown);
    const sync = () => client.traces.run({ agent_name: 'bot' }, (within) => within.span(llm('sync'), () => JSON.parse('{')));
    expect(sync).toThrow(SyntaxError);
    await client.flush();
    expect(requests[0]!.body).toMatchObject({
      outcome: 'failure',
      error: 'TypeError: no such order',
      spans: [{ status: 'failure', error: 'TypeError: no such order' }],
    });
    expect(requests[1]!.body).toMatchObject({
      outcome: 'failure',
      spans: [{ status: 'failure', error: expect.stringMatching(/^SyntaxError/) }],
    });
  });

  test('is sent with the fields given to `traces.run` and to `run.set`, for example the outcome `escalated`', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    await client.traces.run({ agent_name: 'bot', metadata: { release: 1 } }, async (run) => {
      run.set({ outcome: 'escalated', detail: 'a person took over' });
    });
    await client.flush();
    expect(requests[0]!.body).toMatchObject({
      outcome: 'escalated',
      detail: 'a person took over',
      metadata: { release: 1 },
      spans: [],
    });
  });

  test('records a span as it was at its end, despite later changes', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const run = client.traces.start({ agent_name: 'bot' });
    const messages = [{ role: 'user', content: 'first' }];
    const input = { messages };
    const span = run.startSpan({ ...llm('plan'), input });
    span.end();
    messages.push({ role: 'assistant', content: 'second' });
    await run.end();
    expect(requests[0]!.body.spans[0].input).toEqual({ messages: [{ role: 'user', content: 'first' }] });
  });
});

describe('a run that is used incorrectly', () => {
  test('is sent once when it is ended twice; a span keeps its first end, and a later span is not recorded', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const run = client.traces.start({ agent_name: 'bot' });
    const span = run.startSpan(llm('plan'));
    span.end({ output: 'first' });
    span.end({ output: 'second' });
    const [first, second] = await Promise.all([run.end({ outcome: 'blocked' }), run.end({ outcome: 'success' })]);
    expect(first).toBe(second);
    expect(run.span(llm('too late'), () => 'works')).toBe('works');
    expect(requests.map(({ body }) => [body.outcome, body.spans.length, body.spans[0].output])).toEqual([
      ['blocked', 1, 'first'],
    ]);
  });

  test('gives spans that were not ended the status `unfinished` and no end time', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const run = client.traces.start({ agent_name: 'bot' });
    run.startSpan(llm('forgotten'));
    await run.end();
    expect(requests[0]!.body.spans).toEqual([
      { span_id: expect.any(String), kind: 'llm', name: 'forgotten', status: 'unfinished', started_at: expect.any(String) },
    ]);
  });

  test('is sent as a failure on close when it was not ended', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    client.traces.start({ agent_name: 'bot', trace_id: 'never-ended' }).span(llm('plan'), () => undefined);
    await client.close();
    expect(requests[0]!.body).toMatchObject({ trace_id: 'never-ended', outcome: 'failure', error: 'the run was not ended' });
  });

  test('omits values that are not JSON or are too long, and records their names and the reasons', async () => {
    const { client, requests } = await clientOfNewWorkspace({ traces: { spanCharactersMax: 2000 } });
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const run = client.traces.start({ agent_name: 'bot', metadata: { big: 1n } });
    run.span({ ...llm('plan'), input: circle, output: 'kept', model: 1n as never, metadata: { release: 1 } }, () => undefined);
    run.span({ ...llm('long'), input: 'x'.repeat(5000), output: 'y'.repeat(100) }, (span) => span.messages(null as never));
    expect(await run.end()).toMatchObject({ spans_ingested: 2 });
    const { spans, metadata } = requests[0]!.body;
    expect(metadata).toEqual({ countersign_left_out: { metadata: expect.stringContaining('BigInt') } });
    expect(spans[0]).toMatchObject({
      output: 'kept',
      metadata: {
        release: 1,
        countersign_left_out: { input: expect.stringContaining('circular'), model: expect.stringContaining('BigInt') },
      },
    });
    expect(spans[1]).toMatchObject({
      output: 'y'.repeat(100),
      metadata: { countersign_left_out: { input: 'too long: 5002 characters' } },
    });
    expect(spans[1].input).toBeUndefined();
  });

  test('adds messages to a span whose messages were set to a value that is not a list', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const run = client.traces.start({ agent_name: 'bot' });
    const message = { role: 'user', content: 'Where is my order?' };
    run.span(llm('plan'), (span) => span.set({ messages: 5 as never }).messages([message]));
    await run.end();
    expect(requests[0]!.body.spans[0]).toMatchObject({ messages: [message] });
  });

  test('runs the functions of all spans, but records only the first spansMax spans and how many were left out', async () => {
    const { client, requests } = await clientOfNewWorkspace({ traces: { spansMax: 3 } });
    const run = client.traces.start({ agent_name: 'bot' });
    let executed = 0;
    for (let step = 0; step < 5; step += 1) run.span(llm(`${step}`), () => (executed += 1));
    await run.end();
    expect(executed).toBe(5);
    expect(requests[0]!.body.spans.length).toBe(3);
    expect(requests[0]!.body.metadata).toEqual({ countersign_spans_left_out: 2 });
  });

  test('records how many spans were left out, although its metadata is too long', async () => {
    const { client, requests } = await clientOfNewWorkspace({ traces: { spansMax: 1, spanCharactersMax: 500 } });
    const run = client.traces.start({ agent_name: 'bot', metadata: { long: 'x'.repeat(1000) } });
    for (const name of ['first', 'second']) run.span(llm(name), () => undefined);
    await run.end();
    expect(requests[0]!.body.metadata).toEqual({
      countersign_left_out: { metadata: expect.stringContaining('too long') },
      countersign_spans_left_out: 1,
    });
  });

  test('is sent although reading a given field throws an error', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const throwing = {
      get detail(): string {
        throw new Error('getter');
      },
    };
    const run = client.traces.start(throwing).set({ agent_name: 'bot' }).set(throwing);
    run
      .startSpan(llm('plan'))
      .set(throwing as never)
      .usage(Object.defineProperty({}, 'prompt_tokens', Object.getOwnPropertyDescriptor(throwing, 'detail')!))
      .messages([Object.defineProperty({}, 'role', Object.getOwnPropertyDescriptor(throwing, 'detail')!) as never])
      .end(throwing as never);
    await run.end(throwing);
    expect(requests[0]!.body).toMatchObject({ agent_name: 'bot', spans: [{ name: 'plan' }] });
  });

  test('does not throw when the service rejects it: the client calls onRejected, or warns once if there is no such callback', async () => {
    const { client, rejected, dropped } = await clientOfNewWorkspace();
    const wrong = client.traces.start({ agent_name: 'bot', external_user_id: 'someone@example.com' });
    wrong.span(llm('plan'), () => undefined);
    expect(await wrong.end()).toBeUndefined();
    expect(rejected).toMatchObject([
      {
        issues: [{ path: '/external_user_id' }],
        requestId: expect.any(String),
        trace: { trace_id: wrong.traceId, spans: [{ name: 'plan' }] },
      },
    ]);
    expect([client.traces.stats, dropped]).toEqual([{ queued: 0, sent: 0, rejected: 1, dropped: 0 }, []]);
    const failing = await clientOfNewWorkspace({ traces: { onRejected: () => JSON.parse('{') } });
    expect(await failing.client.traces.start({ external_user_id: 'someone@example.com' }).end()).toBeUndefined();
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const silent = await clientOfNewWorkspace({ traces: { onRejected: undefined } });
    for (let run = 0; run < 3; run += 1)
      await silent.client.traces.start({ trace_id: `${run}`, external_user_id: 'someone@example.com' }).end();
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/^countersign: a run was rejected: 422 .*traces\.onRejected/)]]);
    warn.mockRestore();
  });
});

describe('a trace that is sent in several requests', () => {
  const spans = (count: number, more: Partial<Span> = {}) =>
    Array.from(
      { length: count },
      (_, index): Span => ({ span_id: `s${index}`, kind: 'tool', name: 't', prompt_tokens: 1, ...more }),
    );

  test('is split by number of spans and size, and the service merges the parts', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    const manySpans = await client.traces.send({ trace_id: 'many', agent_name: 'bot', outcome: 'blocked', spans: spans(1200) });
    expect(manySpans).toMatchObject({ trace_id: 'many', spans_ingested: 1200, tokens: 1200 });
    expect(requests.map(({ body }) => [body.spans.length, body.outcome, body.agent_name])).toEqual([
      [500, 'blocked', 'bot'],
      [500, undefined, 'bot'],
      [200, undefined, 'bot'],
    ]);
    const largeSpans = await client.traces.send({ trace_id: 'large', spans: spans(10, { output: '語'.repeat(1_500_000) }) });
    expect(largeSpans).toMatchObject({ spans_ingested: 10, tokens: 10 });
  });

  test('stays below the size limit of a request, even if the fields of the run and all spans have the maximum length', () => {
    const span = JSON.stringify({ output: '語'.repeat(999_000) });
    for (const { body } of traceRequests(span, '{"trace_id":"a"}', Array(12).fill(span)))
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20 * 2 ** 20);
  });

  test('is rejected with the path of its ID if the ID is missing', async () => {
    const { client } = await clientOfNewWorkspace();
    await expect(client.traces.send({ spans: spans(1) } as never)).rejects.toMatchObject({ issues: [{ path: '/trace_id' }] });
  });

  test('adds the request number to the Idempotency-Key from the second request on, and sends nothing if a key is too long', async () => {
    const { client, requests } = await clientOfNewWorkspace();
    await client.traces.send({ trace_id: 'parts', spans: spans(501) }, { idempotencyKey: 'k'.repeat(253) });
    expect(requests.map(({ key }) => key)).toEqual(['k'.repeat(253), `${'k'.repeat(253)}.2`]);
    const tooLong = client.traces.send({ trace_id: 'long', spans: spans(501) }, { idempotencyKey: 'k'.repeat(254) });
    await expect(tooLong).rejects.toThrow(
      'idempotencyKey must have at most 253 characters for this trace, which needs 2 requests',
    );
    expect(requests.length).toBe(2);
  });

  test('is rejected with the index that an invalid span has in the whole trace', async () => {
    const { client } = await clientOfNewWorkspace();
    const wrong = spans(700);
    wrong[650] = { ...wrong[650]!, latency_ms: -1 };
    const error = await client.traces.send({ trace_id: 'wrong', spans: wrong }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ValidationError);
    expect((error as ValidationError).issues).toMatchObject([{ path: '/spans/650/latency_ms' }]);
  });

  test('keeps its stored spans when a later request has none', async () => {
    const { client } = await clientOfNewWorkspace();
    await client.traces.send({ trace_id: 'kept', spans: spans(2) });
    expect(await client.traces.send({ trace_id: 'kept', outcome: 'failure' })).toMatchObject({ spans_ingested: 0, tokens: 2 });
    expect(await client.traces.send({ trace_id: 'kept', spans: [] })).toMatchObject({ spans_ingested: 0, tokens: 2 });
  });
});

describe('token usage', () => {
  test.each([
    ['OpenAI chat completions', { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 }, [8, 2, 10]],
    [
      'OpenAI responses',
      { input_tokens: 8, input_tokens_details: { cached_tokens: 4 }, output_tokens: 2, total_tokens: 10 },
      [8, 2, 10],
    ],
    [
      'Anthropic',
      { input_tokens: 8, cache_creation_input_tokens: 5, cache_read_input_tokens: null, output_tokens: 2 },
      [13, 2, undefined],
    ],
    [
      'a gateway in the format of OpenAI',
      { prompt_tokens: 8, cache_read_input_tokens: 4, completion_tokens: 2 },
      [8, 2, undefined],
    ],
    ['Vercel AI', { inputTokens: 8, outputTokens: 2, totalTokens: 10 }, [8, 2, 10]],
    ['Vercel AI 4', { promptTokens: 8, completionTokens: 2 }, [8, 2, undefined]],
    ['invalid counts', { prompt_tokens: Number.NaN, completion_tokens: '2', totalTokens: -1 }, [undefined, undefined, undefined]],
    ['undefined', undefined, [undefined, undefined, undefined]],
  ])('is read from %s; missing and invalid counts are left out', (_, usage, [prompt, completion, total]) => {
    expect(tokenUsage(usage)).toEqual({ prompt_tokens: prompt, completion_tokens: completion, total_tokens: total });
  });
});

test('without AsyncLocalStorage the current span is available only until the first await', async () => {
  const storage = synchronousStorage();
  const span = {} as never;
  const afterAwait = storage.run(span, async () => {
    expect(storage.getStore()).toBe(span);
    await sleep(1);
    return storage.getStore();
  });
  expect(storage.getStore()).toBeUndefined();
  expect(await afterAwait).toBeUndefined();
  expect(() =>
    storage.run(span, () => {
      throw new Error('thrown');
    }),
  ).toThrow('thrown');
  expect(storage.getStore()).toBeUndefined();
});
