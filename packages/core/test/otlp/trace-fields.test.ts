import { describe, expect, test } from 'vitest';
import { mapTraces } from '../../src/otlp/map-traces.ts';
import type { SpanRecord, Value } from '../../src/otlp/records.ts';
import { record } from './span-records.ts';

type Attributes = Record<string, Value>;

const mapOne = (attributes: Attributes, members?: Partial<SpanRecord>) => mapTraces([record(attributes, members)])[0]!;

describe('fields of a run', () => {
  // In each row, an attribute outranks all that follow it.
  test.each<['agent_name' | 'session_id' | 'external_user_id', string[]]>([
    [
      'agent_name',
      [
        'gen_ai.main_agent.name',
        'gen_ai.agent.name',
        'agent.name',
        'gen_ai.workflow.name',
        'traceloop.workflow.name',
        'ai.telemetry.functionId',
      ],
    ],
    [
      'session_id',
      ['gen_ai.conversation.id', 'session.id', 'langfuse.session.id', 'traceloop.association.properties.session_id'],
    ],
    ['external_user_id', ['user.id', 'enduser.id', 'langfuse.user.id', 'traceloop.association.properties.user_id']],
  ])('%s comes from the first attribute of %j that is present', (field, names) => {
    for (const [index, name] of names.entries()) {
      const rest = names.slice(index).reverse();
      expect(mapOne(Object.fromEntries(rest.map((each) => [each, `by ${each}`]))).trace[field]).toBe(`by ${name}`);
    }
  });

  test('session and user may come from any span or from the resource', () => {
    const child = { spanId: 'c'.repeat(16), parentSpanId: 'b'.repeat(16) };
    const resource = new Map([['user.id', 'user-1']]);
    const [mapped] = mapTraces([record({}, { resource }), record({ 'session.id': 's-1' }, { ...child, resource })]);
    expect(mapped!.trace).toMatchObject({ session_id: 's-1', external_user_id: 'user-1' });
  });

  test('the service name becomes the agent name if no attribute names the agent, unless the service name is the default of an SDK', () => {
    const service = (name: string) => ({ resource: new Map([['service.name', name]]) });
    expect(mapOne({}, service('shop')).trace.agent_name).toBe('shop');
    expect(mapOne({ 'agent.name': 'bot' }, service('shop')).trace.agent_name).toBe('bot');
    expect(mapOne({}, service('unknown_service:node')).trace).not.toHaveProperty('agent_name');
  });

  test('the agent span that started first names the agent; a span without a start time counts as the last', () => {
    const agentSpan = (name: string, spanId: string, start: bigint | undefined) =>
      record(
        { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
        { spanId: spanId.repeat(16), parentSpanId: 'f'.repeat(16), start },
      );
    const [first, second, untimed] = [
      agentSpan('first', 'c', 1n),
      agentSpan('second', 'd', 2n),
      agentSpan('untimed', 'e', undefined),
    ];
    const nameOf = (...records: SpanRecord[]) => mapTraces(records)[0]!.trace.agent_name;
    expect([nameOf(untimed, second, first), nameOf(second, untimed)]).toEqual(['first', 'second']);
    expect(nameOf(untimed)).toBe('untimed');
  });

  test.each([
    [0, 'success'],
    [1, 'success'],
    [2, 'failure'],
  ])('the status %i of the root span becomes the outcome %s; other spans set no outcome', (statusCode, outcome) => {
    expect(mapOne({}, { statusCode }).trace.outcome).toBe(outcome);
    expect(mapOne({}, { statusCode, parentSpanId: 'c'.repeat(16) }).trace).not.toHaveProperty('outcome');
  });
});
