// OpenTelemetry's own instrumentation of OpenAI.
const { OpenAIInstrumentation } = require('@opentelemetry/instrumentation-openai');
const { start, runAgent, openAiConversation } = require('./agent.cjs');

const sdk = start(new OpenAIInstrumentation({ captureMessageContent: true }));
const OpenAI = require('openai').OpenAI;
runAgent(sdk, 'otel-openai', () => openAiConversation(new OpenAI({ maxRetries: 0 })));
