// The agent that each instrumentation observes: it asks a model, calls the tool that the model requests, and asks again.
const { trace, SpanStatusCode } = require('@opentelemetry/api');
const { NodeSDK } = require('@opentelemetry/sdk-node');

/** Starts OpenTelemetry with these instrumentations. The endpoint comes only from the environment variables of OpenTelemetry. */
exports.start = (...instrumentations) => {
  const sdk = new NodeSDK({ instrumentations });
  sdk.start();
  return sdk;
};

/** Runs an agent in its own span, named as the GenAI conventions require. Then sends all spans and log records. */
exports.runAgent = async (sdk, name, work) => {
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'gen_ai.conversation.id': 'session-1',
  };
  await trace.getTracer('agent').startActiveSpan(`invoke_agent ${name}`, { attributes }, async (span) => {
    await work().catch((error) => span.setStatus({ code: SpanStatusCode.ERROR, message: error.message }));
    span.end();
  });
  await sdk.shutdown();
};

exports.TOOL = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
};

/** Has a conversation with the model through OpenAI's client: one tool call, an answer, and a last request that fails. */
exports.openAiConversation = async (client) => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'How is the weather in Bern?' },
  ];
  const first = await client.chat.completions.create({ model: 'gpt-4o', messages, tools: [exports.TOOL] });
  const reply = first.choices[0].message;
  messages.push(reply, { role: 'tool', tool_call_id: reply.tool_calls[0].id, content: 'rain' });
  await client.chat.completions.create({ model: 'gpt-4o', messages, tools: [exports.TOOL] });
  await client.chat.completions.create({ model: 'broken', messages });
};

/** Has the same conversation through Anthropic's client. */
exports.anthropicConversation = async (client) => {
  const tools = [{ name: 'weather', description: 'The weather of a city', input_schema: { type: 'object', properties: {} } }];
  const shared = { model: 'claude-sonnet-4-5', max_tokens: 100, system: 'Be brief.', tools };
  const messages = [{ role: 'user', content: 'How is the weather in Bern?' }];
  const first = await client.messages.create({ ...shared, messages });
  messages.push({ role: 'assistant', content: first.content });
  messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: first.content[0].id, content: 'rain' }] });
  await client.messages.create({ ...shared, messages });
  await client.messages.create({ ...shared, model: 'broken', messages });
};
