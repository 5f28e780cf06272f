// OpenInference's instrumentation of Anthropic.
const { AnthropicInstrumentation } = require('@arizeai/openinference-instrumentation-anthropic');
const { start, runAgent, anthropicConversation } = require('./agent.cjs');

const sdk = start(new AnthropicInstrumentation());
const Anthropic = require('@anthropic-ai/sdk').default;
runAgent(sdk, 'openinference-anthropic', () => anthropicConversation(new Anthropic({ maxRetries: 0 })));
