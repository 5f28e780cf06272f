// The Vercel AI SDK's own telemetry.
const { start, runAgent } = require('./agent.cjs');

const sdk = start();
const { generateText, stepCountIs, tool } = require('ai');
const { createOpenAI } = require('@ai-sdk/openai');
const { z } = require('zod');

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const experimental_telemetry = { isEnabled: true, functionId: 'vercel-ai' };
const weather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async () => 'rain',
});
const ask = (model) =>
  generateText({
    model: openai.chat(model),
    system: 'Be brief.',
    prompt: 'How is the weather in Bern?',
    tools: { weather },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
    experimental_telemetry,
  });

runAgent(sdk, 'vercel-ai', async () => {
  await ask('gpt-4o');
  await ask('broken');
});
