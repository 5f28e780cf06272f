// OpenLLMetry's instrumentation of OpenAI.
const { OpenAIInstrumentation } = require('@traceloop/instrumentation-openai');
const { start, runAgent, openAiConversation } = require('./agent.cjs');

const sdk = start(new OpenAIInstrumentation());
const OpenAI = require('openai').OpenAI;
runAgent(sdk, 'openllmetry-openai', () => openAiConversation(new OpenAI({ maxRetries: 0 })));
