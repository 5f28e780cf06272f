// OpenInference's instrumentation of OpenAI.
const { OpenAIInstrumentation } = require('@arizeai/openinference-instrumentation-openai');
const { start, runAgent, openAiConversation } = require('./agent.cjs');

const instrumentation = new OpenAIInstrumentation();
const sdk = start(instrumentation);
const OpenAI = require('openai').OpenAI;
runAgent(sdk, 'openinference-openai', () => openAiConversation(new OpenAI({ maxRetries: 0 })));
