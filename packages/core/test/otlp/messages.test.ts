import { describe, expect, test } from 'vitest';
import type { Value } from '../../src/otlp/records.ts';
import { mapAttributes } from './span-records.ts';

const CALL = { id: 'call-1', type: 'function', function: { name: 'weather', arguments: { city: 'Bern' } } };
const CONVERSATION = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'How is the weather?' },
  { role: 'assistant', tool_calls: [CALL] },
  { role: 'tool', content: 'rain', tool_call_id: 'call-1' },
  { role: 'assistant', content: 'It rains.' },
];

const jsonOf = (...messages: object[]) => JSON.stringify(messages);

describe('conversation', () => {
  test.each<[string, Record<string, Value>]>([
    [
      'of the GenAI conventions (JSON text)',
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.system_instructions': jsonOf({ type: 'text', content: 'Be brief.' }),
        'gen_ai.input.messages': jsonOf(
          { role: 'user', parts: [{ type: 'text', content: 'How is the weather?' }] },
          { role: 'assistant', parts: [{ type: 'tool_call', id: 'call-1', name: 'weather', arguments: { city: 'Bern' } }] },
          { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call-1', result: 'rain' }] },
        ),
        'gen_ai.output.messages': jsonOf({
          role: 'assistant',
          parts: [{ type: 'text', content: 'It rains.' }],
          finish_reason: 'stop',
        }),
      },
    ],
    [
      'of the GenAI conventions (a structure)',
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.input.messages': [
          { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
          { role: 'user', parts: [{ type: 'text', content: 'How is the weather?' }] },
          { role: 'assistant', parts: [{ type: 'tool_call', id: 'call-1', name: 'weather', arguments: { city: 'Bern' } }] },
          { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call-1', response: 'rain' }] },
        ],
        'gen_ai.output.messages': [{ role: 'assistant', parts: [{ type: 'text', content: 'It rains.' }] }],
      },
    ],
    [
      'of OpenInference',
      {
        'openinference.span.kind': 'LLM',
        'llm.input_messages.0.message.role': 'system',
        'llm.input_messages.0.message.content': 'Be brief.',
        'llm.input_messages.1.message.role': 'user',
        'llm.input_messages.1.message.content': 'How is the weather?',
        'llm.input_messages.2.message.role': 'assistant',
        'llm.input_messages.2.message.tool_calls.0.tool_call.id': 'call-1',
        'llm.input_messages.2.message.tool_calls.0.tool_call.function.name': 'weather',
        'llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments': '{"city":"Bern"}',
        'llm.input_messages.3.message.role': 'tool',
        'llm.input_messages.3.message.content': 'rain',
        'llm.input_messages.3.message.tool_call_id': 'call-1',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': 'It rains.',
      },
    ],
    [
      'of the older GenAI names (in any order)',
      {
        'llm.request.type': 'chat',
        'gen_ai.completion.0.content': 'It rains.',
        'gen_ai.completion.0.role': 'assistant',
        'gen_ai.prompt.3.role': 'tool',
        'gen_ai.prompt.3.content': 'rain',
        'gen_ai.prompt.3.tool_call_id': 'call-1',
        'gen_ai.prompt.2.role': 'assistant',
        'gen_ai.prompt.2.tool_calls.0.id': 'call-1',
        'gen_ai.prompt.2.tool_calls.0.name': 'weather',
        'gen_ai.prompt.2.tool_calls.0.arguments': '{"city":"Bern"}',
        'gen_ai.prompt.1.role': 'user',
        'gen_ai.prompt.1.content': 'How is the weather?',
        'gen_ai.prompt.0.role': 'system',
        'gen_ai.prompt.0.content': 'Be brief.',
      },
    ],
    [
      'of the Vercel AI SDK',
      {
        'ai.operationId': 'ai.generateText.doGenerate',
        'ai.prompt.messages': jsonOf(
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: [{ type: 'text', text: 'How is the weather?' }] },
          {
            role: 'assistant',
            content: [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'weather', input: { city: 'Bern' } }],
          },
          { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'call-1', output: 'rain' }] },
        ),
        'ai.response.text': 'It rains.',
      },
    ],
    [
      'of Langfuse',
      {
        'langfuse.observation.type': 'generation',
        'langfuse.observation.input': JSON.stringify({ messages: CONVERSATION.slice(0, 4), tools: [] }),
        'langfuse.observation.output': JSON.stringify(CONVERSATION[4]),
      },
    ],
  ])('%s is mapped to messages', (_, attributes) => {
    const span = mapAttributes(attributes);
    expect(span.messages).toEqual(CONVERSATION);
    const remainingNames = Object.keys(span.metadata!).filter((name) =>
      /messages|prompt\.|completion\.|response\.text|observation\.(in|out)put/.test(name),
    );
    expect(remainingNames).toEqual([]);
  });

  test.each<[string, Record<string, Value>, Record<string, Value>]>([
    [
      'of the GenAI conventions',
      { 'gen_ai.operation.name': 'chat', 'gen_ai.output.messages': 'Hi.' },
      { 'gen_ai.system_instructions': 7, 'gen_ai.input.messages': '{"text":"Hello"}' },
    ],
    [
      'of the Vercel AI SDK',
      { 'ai.operationId': 'ai.generateText.doGenerate', 'ai.response.text': 'Hi.' },
      { 'ai.prompt.messages': 'Hello', 'ai.response.toolCalls': '{"toolName":"weather"}' },
    ],
  ])('an attribute %s that yields no message stays in metadata', (_, used, unused) => {
    const { messages, metadata } = mapAttributes({ ...used, ...unused });
    expect(messages).toEqual([{ role: 'assistant', content: 'Hi.' }]);
    expect(metadata).toMatchObject(unused);
  });

  test('parts other than text stay unchanged', () => {
    const image = { type: 'uri', uri: 'https://example.com/cat.png' };
    const { messages } = mapAttributes({
      'gen_ai.operation.name': 'chat',
      'gen_ai.input.messages': jsonOf({ role: 'user', parts: [{ type: 'text', content: 'This?' }, image] }),
    });
    expect(messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'This?' }, image] }]);
  });

  test('text that is not JSON becomes the content of a message', () => {
    const { messages } = mapAttributes({ 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': 'Hello {' });
    expect(messages).toEqual([{ role: 'user', content: 'Hello {' }]);
  });

  test('an unknown role is replaced by the role that the name of the attribute implies', () => {
    const { messages } = mapAttributes({
      'gen_ai.input.messages': jsonOf({ role: 'constructor', parts: [{ type: 'text', content: 'x' }] }),
    });
    expect(messages).toEqual([{ role: 'user', content: 'x' }]);
  });

  const event = (name: string, attributes: Record<string, Value>) => ({
    ...{ name, time: undefined },
    attributes: new Map(Object.entries(attributes)),
  });
  const detailsEvent = (attributes: Record<string, Value>) => event('gen_ai.client.inference.operation.details', attributes);

  test('is read from all events gen_ai.client.inference.operation.details; if an attribute is repeated, the first one is used', () => {
    const output = (content: string) => jsonOf({ role: 'assistant', parts: [{ type: 'text', content }] });
    const { messages } = mapAttributes(
      { 'gen_ai.operation.name': 'chat' },
      {
        events: [
          detailsEvent({ 'gen_ai.system_instructions': jsonOf({ type: 'text', content: 'Be brief.' }) }),
          detailsEvent({ 'gen_ai.input.messages': jsonOf({ role: 'user', parts: [{ type: 'text', content: 'Hello' }] }) }),
          detailsEvent({ 'gen_ai.output.messages': output('Hi.') }),
          detailsEvent({ 'gen_ai.output.messages': output('Again.') }),
        ],
      },
    );
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
    ]);
  });

  test('is read from events whose content has the blocks of the Converse API', () => {
    const { messages } = mapAttributes(
      { 'gen_ai.operation.name': 'chat' },
      {
        events: [
          event('gen_ai.system.message', { content: jsonOf({ text: 'Be brief.' }) }),
          event('gen_ai.user.message', { content: jsonOf({ text: 'How is the weather?' }) }),
          event('gen_ai.assistant.message', {
            content: jsonOf({ toolUse: { toolUseId: 'call-1', name: 'weather', input: { city: 'Bern' } } }),
          }),
          event('gen_ai.tool.message', {
            content: jsonOf({ toolResult: { toolUseId: 'call-1', status: 'success', content: [{ text: 'rain' }] } }),
          }),
          event('gen_ai.choice', { finish_reason: 'end_turn', message: jsonOf({ text: 'It rains.' }) }),
        ],
      },
    );
    expect(messages).toEqual(CONVERSATION);
  });

  test.each<[Value]>([[{ a: 1 }], [{ toString: 1 }], [5]])('keeps the value %j of a part that should be text', (text) => {
    const { messages } = mapAttributes(
      { 'gen_ai.operation.name': 'chat' },
      { events: [event('gen_ai.user.message', { content: JSON.stringify([{ text }]) })] },
    );
    expect(messages).toEqual([{ role: 'user', content: [{ type: 'text', text }] }]);
  });

  test('keeps the text of a choice whose message is not an object', () => {
    const { messages } = mapAttributes({}, { events: [event('gen_ai.choice', { message: 'It rains.' })] });
    expect(messages).toEqual([{ role: 'assistant', content: 'It rains.' }]);
  });
});
