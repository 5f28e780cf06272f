import { describe, expect, test } from 'vitest';
import type { Value } from '../../src/otlp/records.ts';
import { mapAttributes } from './span-records.ts';

type Attributes = Record<string, Value>;

describe('kind of a step', () => {
  test.each<[string, Attributes]>([
    ['agent', { 'openinference.span.kind': 'AGENT', 'gen_ai.operation.name': 'chat' }],
    ...['invoke_agent', 'create_agent', 'invoke_workflow', 'handle_conversation_turn', 'plan', 'agent_step'].map(
      (operation): [string, Attributes] => ['agent', { 'gen_ai.operation.name': operation }],
    ),
    ['agent', { 'traceloop.span.kind': 'agent' }],
    ['agent', { 'traceloop.span.kind': 'workflow' }],
    ['llm', { 'openinference.span.kind': 'LLM' }],
    ...['chat', 'text_completion', 'generate_content', 'completion', 'generate'].map((operation): [string, Attributes] => [
      'llm',
      { 'gen_ai.operation.name': operation, 'gen_ai.agent.name': 'a', 'gen_ai.tool.name': 't' },
    ]),
    ['llm', { 'llm.request.type': 'chat' }],
    ['llm', { 'llm.request.type': 'completion' }],
    ['llm', { 'ai.operationId': 'ai.generateText.doGenerate' }],
    ['llm', { 'ai.operationId': 'ai.streamText.doStream' }],
    ['other', { 'ai.operationId': 'ai.generateText', 'ai.model.id': 'gpt-4o' }],
    ['llm', { 'gen_ai.request.model': 'gpt-4o' }],
    ['tool', { 'openinference.span.kind': 'TOOL' }],
    ['tool', { 'gen_ai.operation.name': 'execute_tool' }],
    ['tool', { 'traceloop.span.kind': 'tool' }],
    ['tool', { 'ai.operationId': 'ai.toolCall' }],
    ['tool', { 'gen_ai.tool.call.id': 'call-1' }],
    ['tool', { 'mcp.method.name': 'tools/call' }],
    ['retrieval', { 'openinference.span.kind': 'RETRIEVER' }],
    ['retrieval', { 'openinference.span.kind': 'RERANKER' }],
    ...['retrieval', 'search_memory', 'rerank'].map((operation): [string, Attributes] => [
      'retrieval',
      { 'gen_ai.operation.name': operation },
    ]),
    ['retrieval', { 'llm.request.type': 'rerank' }],
    ['other', { 'gen_ai.operation.name': 'embeddings' }],
    ['tool', { 'gen_ai.tool.name': 'search' }],
    // The name of an operation outranks attributes that describe an agent.
    ['llm', { 'gen_ai.operation.name': 'chat', 'gen_ai.agent.name': 'bot' }],
    ['guardrail', { 'openinference.span.kind': 'GUARDRAIL' }],
    ...['CHAIN', 'PROMPT', 'EVALUATOR', 'EMBEDDING'].map((kind): [string, Attributes] => [
      'other',
      { 'openinference.span.kind': kind },
    ]),
    ...['agent', 'tool', 'guardrail'].map((type): [string, Attributes] => [type, { 'langfuse.observation.type': type }]),
    ['llm', { 'langfuse.observation.type': 'generation' }],
    ['retrieval', { 'langfuse.observation.type': 'retriever' }],
    ...['chain', 'evaluator', 'embedding', 'span', 'event'].map((type): [string, Attributes] => [
      'other',
      { 'langfuse.observation.type': type },
    ]),
    ['llm', { 'langfuse.observation.type': 'span', 'gen_ai.request.model': 'm' }],
    ['other', { 'traceloop.span.kind': 'task' }],
    ['other', { 'gen_ai.operation.name': 'constructor' }],
    ['other', { 'http.request.method': 'GET' }],
  ])('is %s for %j', (kind, attributes) => {
    expect(mapAttributes(attributes).kind).toBe(kind);
  });

  test('comes from an attribute that also stays in metadata', () => {
    expect(mapAttributes({ 'openinference.span.kind': 'CHAIN' }).metadata).toMatchObject({ 'openinference.span.kind': 'CHAIN' });
  });
});

describe('fields of a step', () => {
  const LLM = { 'gen_ai.operation.name': 'chat' };
  test.each<[string, unknown, Attributes]>([
    ['model', 'answered', { 'gen_ai.response.model': 'answered', 'gen_ai.request.model': 'asked', 'llm.model_name': 'oi' }],
    ['model', 'asked', { 'gen_ai.response.model': '', 'gen_ai.request.model': 'asked' }],
    ['model', 'oi', { 'llm.model_name': 'oi', 'ai.model.id': 'sdk' }],
    ['model', 'answered', { 'llm.response.model_name': 'answered', 'llm.model_name': 'oi', 'llm.request.model_name': 'asked' }],
    ['model', 'e', { 'embedding.model_name': 'e', 'reranker.model_name': 'r' }],
    ['model', 'r', { 'reranker.model_name': 'r', 'ai.model.id': 'sdk' }],
    ['provider', 'oi', { 'llm.provider': 'oi', 'llm.system': 'system' }],
    ['provider', 'new', { 'gen_ai.provider.name': 'new', 'gen_ai.system': 'old' }],
    ['provider', 'old', { 'gen_ai.system': 'old', 'llm.provider': 'oi' }],
    ['prompt_tokens', 10, { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.prompt_tokens': 11 }],
    ['prompt_tokens', 11, { 'gen_ai.usage.prompt_tokens': 11, 'llm.token_count.prompt': 12 }],
    ['completion_tokens', 10, { 'gen_ai.usage.output_tokens': 10, 'gen_ai.usage.completion_tokens': 11 }],
    ['completion_tokens', 12, { 'llm.token_count.completion': 12 }],
    ['total_tokens', 30, { 'llm.token_count.total': 30, 'llm.usage.total_tokens': 31 }],
    ['total_tokens', 31, { 'llm.usage.total_tokens': 31, 'gen_ai.usage.total_tokens': 32 }],
    ['cost_usd', 0.25, { 'llm.cost.total': 0.25, 'gen_ai.usage.cost': 1 }],
    ['cost_usd', 0.5, { 'langfuse.observation.cost_details.total': '0.5' }],
    ['cost_usd', 0.003, { 'langfuse.observation.cost_details': '{"input":0.001,"output":0.002,"total":0.003}' }],
    ['cost_usd', 0.002, { 'gen_ai.cost.total_cost': 0.002, 'gen_ai.cost.input_cost': 0.001 }],
    ['cost_usd', 0.002, { 'operation.cost': 0.002 }],
    ['model', 'gpt-4o', { 'langfuse.observation.model.name': 'gpt-4o', 'ai.model.id': 'sdk' }],
    ...[
      '{"input":10,"output":2,"total":12,"cache_read_input_tokens":6}',
      '{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":6}}',
      '{"input_tokens":10,"output_tokens":2,"total_tokens":12}',
    ].flatMap((usage): [string, unknown, Attributes][] => [
      ['prompt_tokens', 10, { 'langfuse.observation.usage_details': usage }],
      ['completion_tokens', 2, { 'langfuse.observation.usage_details': usage }],
      ['total_tokens', 12, { 'langfuse.observation.usage_details': usage }],
    ]),
  ])('%s is %j for %j', (field, value, attributes) => {
    expect(mapAttributes({ ...LLM, ...attributes })).toMatchObject({ [field]: value });
  });

  test.each<[string, Attributes]>([
    ['prompt_tokens', { 'gen_ai.usage.input_tokens': -1 }],
    ['prompt_tokens', { 'gen_ai.usage.input_tokens': 1.5 }],
    ['prompt_tokens', { 'gen_ai.usage.input_tokens': '9007199254740993' }],
    ['cost_usd', { 'llm.cost.total': -0.1 }],
    ['prompt_tokens', { 'langfuse.observation.usage_details': '{"input":-1}' }],
    ['prompt_tokens', { 'langfuse.observation.usage_details': '{"input":' }],
    ['model', { 'gen_ai.request.model': 'm'.repeat(513) }],
    ['model', { 'gen_ai.request.model': 'line\nbreak' }],
  ])('the attribute for %s stays in metadata when the contract rejects its value: %j', (field, attributes) => {
    const span = mapAttributes({ ...LLM, ...attributes });
    expect(span).not.toHaveProperty(field);
    expect(span.metadata).toMatchObject(attributes);
  });

  test('cached and reasoning tokens are not added to the input and output tokens, and stay in metadata', () => {
    const parts = { 'gen_ai.usage.cache_read.input_tokens': 90, 'gen_ai.usage.reasoning.output_tokens': 5 };
    const span = mapAttributes({ ...LLM, 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, ...parts });
    expect(span).toMatchObject({ prompt_tokens: 100, completion_tokens: 20, metadata: parts });
  });

  test('tokens of agent steps are not counted, because they repeat the tokens of child steps', () => {
    const span = mapAttributes({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.input_tokens': 100 });
    expect(span).not.toHaveProperty('prompt_tokens');
    expect(span.metadata).toMatchObject({ 'gen_ai.usage.input_tokens': 100 });
  });

  test('an embedding keeps its tokens and model', () => {
    const span = mapAttributes({
      'openinference.span.kind': 'EMBEDDING',
      'llm.token_count.prompt': 7,
      'embedding.model_name': 'e',
    });
    expect(span).toMatchObject({ kind: 'other', prompt_tokens: 7, model: 'e' });
  });

  test('times keep their nanoseconds, and the latency is their difference unless it is negative', () => {
    expect(mapAttributes({})).toMatchObject({
      started_at: '2023-11-14T22:13:20.123456789Z',
      ended_at: '2023-11-14T22:13:21.623456789Z',
      latency_ms: 1500,
    });
    expect(mapAttributes({}, { start: undefined, end: undefined })).not.toHaveProperty('started_at');
    expect(mapAttributes({}, { start: 2_000_000n, end: 1_000_000n })).not.toHaveProperty('latency_ms');
  });

  test('unmapped attributes stay in metadata, with scope, span kind and events', () => {
    const span = mapAttributes(
      { 'server.address': 'api.example.com', __proto__x: 1 },
      { kind: 3, scope: 'lib', events: [{ name: 'e', time: 1_000n, attributes: new Map([['k', 'v']]) }] },
    );
    expect(span.metadata).toEqual({
      'server.address': 'api.example.com',
      __proto__x: 1,
      'otel.span.kind': 'client',
      'otel.scope.name': 'lib',
      'otel.events': [{ name: 'e', time: '1970-01-01T00:00:00.000001000Z', attributes: { k: 'v' } }],
    });
  });
});

describe('error of a step', () => {
  const exception = (attributes: Attributes) => [
    { name: 'exception', time: undefined, attributes: new Map(Object.entries(attributes)) },
  ];
  test.each([
    [
      'the message of an exception',
      'boom',
      {},
      { events: exception({ 'exception.message': 'boom' }), statusCode: 2, statusMessage: 's' },
    ],
    ['the type of an exception', 'ValueError', {}, { events: exception({ 'exception.type': 'ValueError' }) }],
    ['the status message', 's', { 'error.type': 't' }, { statusCode: 2, statusMessage: 's' }],
    ['error.type', 't', { 'error.type': 't' }, {}],
  ])('comes from %s', (_, error, attributes, members) => {
    expect(mapAttributes(attributes as Attributes, members)).toMatchObject({ status: 'error', error });
  });

  test('is missing when an error status has no reason', () => {
    const span = mapAttributes({}, { statusCode: 2 });
    expect(span.status).toBe('error');
    expect(span).not.toHaveProperty('error');
  });
});

describe('retrieval step', () => {
  test('of the GenAI conventions has its query and documents', () => {
    const documents = '[{"id":"d1","score":0.9}]';
    const span = mapAttributes({
      'gen_ai.operation.name': 'retrieval',
      'gen_ai.retrieval.query.text': 'refunds',
      'gen_ai.retrieval.documents': documents,
    });
    expect(span).toMatchObject({ kind: 'retrieval', input: 'refunds', output: JSON.parse(documents) });
  });

  const documentAttributes = (prefix: string): Attributes => ({
    [`${prefix}.1.document.content`]: 'second',
    [`${prefix}.0.document.id`]: 'd1',
    [`${prefix}.0.document.content`]: 'first',
    [`${prefix}.0.document.score`]: 0.9,
    [`${prefix}.0.document.metadata`]: '{"page":3}',
  });
  const DOCUMENTS = [{ id: 'd1', content: 'first', score: 0.9, metadata: { page: 3 } }, { content: 'second' }];

  test.each([
    ['RETRIEVER', 'retrieval.documents'],
    ['RERANKER', 'reranker.output_documents'],
  ])('of OpenInference (%s) has the documents in %s as its output, unless the span has output.value', (kind, prefix) => {
    const attributes = { 'openinference.span.kind': kind, 'input.value': 'refunds', ...documentAttributes(prefix) };
    const span = mapAttributes(attributes);
    expect(span).toMatchObject({ kind: 'retrieval', input: 'refunds', output: DOCUMENTS });
    expect(span.metadata).not.toHaveProperty([`${prefix}.0.document.id`]);
    const withOutput = mapAttributes({ ...attributes, 'output.value': 'text' });
    expect(withOutput).toMatchObject({ output: 'text', metadata: documentAttributes(prefix) });
  });
});

describe('tool step', () => {
  test.each<[string, Attributes]>([
    [
      'GenAI',
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'search',
        'gen_ai.tool.call.arguments': '{"q":1}',
        'gen_ai.tool.call.result': 'found',
      },
    ],
    [
      'OpenInference',
      {
        'openinference.span.kind': 'TOOL',
        'tool.name': 'search',
        'input.value': '{"q":1}',
        'output.value': 'found',
        'tool.parameters': '{"type":"object"}',
      },
    ],
    [
      'OpenLLMetry',
      {
        'traceloop.span.kind': 'tool',
        'tool.name': 'search',
        'traceloop.entity.input': '{"q":1}',
        'traceloop.entity.output': 'found',
      },
    ],
    [
      'Langfuse',
      {
        'langfuse.observation.type': 'tool',
        'gen_ai.tool.name': 'search',
        'langfuse.observation.input': '{"q":1}',
        'langfuse.observation.output': 'found',
      },
    ],
    [
      'the Vercel AI SDK',
      {
        'ai.operationId': 'ai.toolCall',
        'ai.toolCall.name': 'search',
        'ai.toolCall.args': '{"q":1}',
        'ai.toolCall.result': 'found',
      },
    ],
  ])('of %s has a name, arguments and a result', (_, attributes) => {
    expect(mapAttributes(attributes)).toMatchObject({
      kind: 'tool',
      name: 'search',
      tool_arguments: { q: 1 },
      tool_result: 'found',
    });
  });
});
