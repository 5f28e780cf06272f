import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { type Exporter, exporter } from './sending.ts';
import { chatRun, id, jsonExport, newTrace, type TestSpan } from './test-exports.ts';

let server: TestServer;
let workspace: string;
let key: string;
let viewer: PortalClient;
let otlpExporter: Exporter;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  viewer = await portalClient(server, workspace, 'viewer');
  otlpExporter = exporter(server, key);
});

const sendSpans = async (spans: readonly TestSpan[], resource: Record<string, unknown> = {}) =>
  expect((await otlpExporter.sendJson(jsonExport(spans, resource))).status).toBe(200);
const runOf = async (traceId: string) => (await viewer.getResult('runs.list', { query: { text: traceId } })).items[0]!;
const traceIdsWithOutcome = async (outcome: string) =>
  (await viewer.getResult('runs.list', { query: { outcome } })).items.map(({ trace_id }) => trace_id);
const agentNames = async () => (await viewer.getResult('agents.list')).items.map(({ name }) => name);
const postTrace = async (body: object) => (await server.post(paths.traces, key, body)).status;

/** Moves the time of a trace's last span back by an interval. */
const moveLastSpanBack = (traceId: string, interval: string) =>
  server.database.sql(
    `UPDATE countersign.traces SET last_span_at = last_span_at - $3::interval WHERE tenant_id = $1 AND trace_id = $2`,
    [workspace, traceId, interval],
  );

const root = (traceId: string, name: string, members: Partial<TestSpan> = {}): TestSpan => ({
  traceId,
  spanId: id(1),
  name: 'run',
  attributes: { 'gen_ai.agent.name': name },
  ...members,
});
const child = (traceId: string, number: number, attributes: Record<string, unknown> = {}): TestSpan => ({
  traceId,
  spanId: id(number),
  parentSpanId: id(1),
  attributes,
});

describe('a run that arrives in several exports', () => {
  test('has no outcome, and does not register its service name as an agent, before its root arrives', async () => {
    const traceId = newTrace();
    await sendSpans([chatRun(traceId)[0]!], { 'service.name': 'provisional-service' });
    expect(await runOf(traceId)).toMatchObject({ outcome: null, agent: null, provisional_agent_name: 'provisional-service' });
    expect(await agentNames()).not.toContain('provisional-service');
    expect(await traceIdsWithOutcome('arriving')).toContain(traceId);
    expect(await traceIdsWithOutcome('success')).not.toContain(traceId);
    await sendSpans([chatRun(traceId)[1]!]);
    expect(await runOf(traceId)).toMatchObject({
      outcome: 'success',
      agent: { name: 'otlp-bot' },
      provisional_agent_name: null,
      span_count: 2,
      total_tokens: 150,
    });
    expect(await traceIdsWithOutcome('arriving')).not.toContain(traceId);
  });

  test('becomes incomplete 15 minutes after its last span if it has no root, and a late root sets its outcome', async () => {
    const traceId = newTrace();
    await sendSpans([child(traceId, 2)]);
    await moveLastSpanBack(traceId, '14 minutes 50 seconds');
    expect((await runOf(traceId)).outcome).toBe(null);
    await moveLastSpanBack(traceId, '10 seconds');
    expect((await runOf(traceId)).outcome).toBe('incomplete');
    expect(await traceIdsWithOutcome('incomplete')).toEqual([traceId]);
    const { days } = await viewer.getResult('overview.usage');
    expect(days.at(-1)!.unfinished).toBeGreaterThan(0);
    await sendSpans([child(traceId, 3)]);
    expect((await runOf(traceId)).outcome).toBe(null);
    await sendSpans([root(traceId, 'late-bot', { status: { code: 2, message: 'it failed' } })]);
    expect(await runOf(traceId)).toMatchObject({ outcome: 'failure', agent: { name: 'late-bot' }, has_error: true });
  });

  test('never succeeds if its root has a remote parent, and its agent stays provisional', async () => {
    const traceId = newTrace();
    const remote = { parentSpanId: id(99), flags: 0x301 };
    await sendSpans([root(traceId, 'remote-bot', remote)]);
    await moveLastSpanBack(traceId, '16 minutes');
    expect(await runOf(traceId)).toMatchObject({ outcome: 'incomplete', agent: null, provisional_agent_name: 'remote-bot' });
    expect(await agentNames()).not.toContain('remote-bot');
  });
});

describe('a model call that is reported by a span and by its child span', () => {
  const usage = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20 };
  const call = (traceId: string, number: number, parent: number, tokens = usage): TestSpan => ({
    ...child(traceId, number, { ...tokens, 'gen_ai.usage.cost': 0.5 }),
    parentSpanId: id(parent),
  });
  const totalsOfOneCall = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, cost_usd: '0.5' };

  test('counts once if each span arrives in a separate export, in any order', async () => {
    for (const [first, second] of [
      [3, 2],
      [2, 3],
    ]) {
      const traceId = newTrace();
      for (const number of [first!, second!]) await sendSpans([call(traceId, number, number - 1)]);
      await sendSpans([root(traceId, 'nested-bot')]);
      expect(await runOf(traceId)).toMatchObject({ ...totalsOfOneCall, span_count: 3 });
    }
  });

  test('counts once if a span is sent again, alone or with the other span', async () => {
    const traceId = newTrace();
    const [outer, inner] = [call(traceId, 2, 1), call(traceId, 3, 2)];
    for (const spans of [[inner], [outer], [inner], [outer, root(traceId, 'again-bot')], [outer, inner], [inner]]) {
      await sendSpans([...spans, child(traceId, 9, { sent: Math.random() })]);
      expect(await runOf(traceId)).toMatchObject(totalsOfOneCall);
    }
  });

  test.each([
    { groups: [[2], [3], [4]] },
    { groups: [[2], [4], [3]] },
    { groups: [[3], [2], [4]] },
    { groups: [[3], [4], [2]] },
    { groups: [[4], [2], [3]] },
    { groups: [[4], [3], [2]] },
    { groups: [[4], [3, 2]] },
    { groups: [[3, 2], [4]] },
    { groups: [[4, 3], [2]] },
    { groups: [[2], [4, 3]] },
    { groups: [[4, 2], [3]] },
    { groups: [[3], [4, 2]] },
  ])('counts once if spans 2, 3 and 4, each the parent of the next, arrive in the exports $groups', async ({ groups }) => {
    const traceId = newTrace();
    for (const group of groups) await sendSpans(group.map((number) => call(traceId, number, number - 1)));
    await sendSpans([root(traceId, 'nested-bot')]);
    expect(await runOf(traceId)).toMatchObject(totalsOfOneCall);
  });

  test('the calls below an agent span, or below a call without tokens, are all counted', async () => {
    const traceId = newTrace();
    await sendSpans([call(traceId, 3, 2)]);
    await sendSpans([call(traceId, 4, 2)]);
    await sendSpans([call(traceId, 6, 5)]);
    await sendSpans([{ ...child(traceId, 5, { 'gen_ai.operation.name': 'chat' }) }]);
    await sendSpans([child(traceId, 2, { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.input_tokens': 200 })]);
    await sendSpans([root(traceId, 'three-calls')]);
    expect(await runOf(traceId)).toMatchObject({ total_tokens: 360, cost_usd: '1.5' });
  });
});

describe('the agent of a run', () => {
  const invoke = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'sub-bot' };

  test('from an invoke_agent span is replaced by the agent of the root, in any order of arrival', async () => {
    const [rootLast, rootFirst] = [newTrace(), newTrace()];
    await sendSpans([child(rootLast, 2, invoke)]);
    expect((await runOf(rootLast)).agent).toMatchObject({ name: 'sub-bot' });
    await sendSpans([root(rootLast, 'main-bot')]);
    await sendSpans([root(rootFirst, 'main-bot')]);
    await sendSpans([child(rootFirst, 2, invoke)]);
    for (const traceId of [rootLast, rootFirst]) expect((await runOf(traceId)).agent).toMatchObject({ name: 'main-bot' });
  });

  test('is the service name of the root if there is no better name, but never a default service name', async () => {
    const [withOwnName, withDefaultName] = [newTrace(), newTrace()];
    await sendSpans([root(withOwnName, '')], { 'service.name': 'plain-service' });
    expect((await runOf(withOwnName)).agent).toMatchObject({ name: 'plain-service' });
    await sendSpans([child(withOwnName, 2, invoke)]);
    expect((await runOf(withOwnName)).agent).toMatchObject({ name: 'sub-bot' });
    await sendSpans([root(withDefaultName, '')], { 'service.name': 'unknown_service:node' });
    expect((await runOf(withDefaultName)).agent).toBe(null);
  });

  test('is not registered when the contract rejects its name, which stays in metadata', async () => {
    const traceId = newTrace();
    await sendSpans([root(traceId, ' spaced ')]);
    const run = await runOf(traceId);
    expect(run).toMatchObject({ agent: null, outcome: 'success' });
    const { payload } = await viewer.getResult('runs.span', { params: { trace: run.id }, query: { span_id: id(1) } });
    expect(payload.metadata).toMatchObject({ 'gen_ai.agent.name': ' spaced ' });
  });

  test('from /api/public/traces takes precedence over the agent of the root', async () => {
    const traceId = newTrace();
    expect(await postTrace({ trace_id: traceId, agent_name: 'native-bot' })).toBe(200);
    await sendSpans([root(traceId, 'root-bot')]);
    expect((await runOf(traceId)).agent).toMatchObject({ name: 'native-bot' });
  });
});

describe('the outcome of a run sent to /api/public/traces and as OTLP', () => {
  test('becomes the default, `success`, when a trace without an outcome arrives, but only if the run has no outcome yet', async () => {
    const [unfinished, failed] = [newTrace(), newTrace()];
    await sendSpans([child(unfinished, 2)]);
    await postTrace({ trace_id: unfinished });
    expect((await runOf(unfinished)).outcome).toBe('success');
    await sendSpans([root(failed, 'x-bot', { status: { code: 2 } })]);
    await postTrace({ trace_id: failed });
    expect((await runOf(failed)).outcome).toBe('failure');
  });

  test('comes from the root span, which overrides the default, but an explicit outcome overrides the root span', async () => {
    const [byDefault, explicit] = [newTrace(), newTrace()];
    await postTrace({ trace_id: byDefault });
    await sendSpans([root(byDefault, 'x-bot', { status: { code: 2 } })]);
    expect((await runOf(byDefault)).outcome).toBe('failure');
    await postTrace({ trace_id: explicit, outcome: 'escalated' });
    await sendSpans([root(explicit, 'x-bot')]);
    expect((await runOf(explicit)).outcome).toBe('escalated');
    await postTrace({ trace_id: explicit, outcome: 'blocked' });
    expect((await runOf(explicit)).outcome).toBe('blocked');
  });
});
