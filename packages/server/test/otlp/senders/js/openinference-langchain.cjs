// OpenInference's instrumentation of LangChain.
const { LangChainInstrumentation } = require('@arizeai/openinference-instrumentation-langchain');
const { start, runAgent } = require('./agent.cjs');

const instrumentation = new LangChainInstrumentation();
const sdk = start(instrumentation);
instrumentation.manuallyInstrument(require('@langchain/core/callbacks/manager'));
const { ChatOpenAI } = require('@langchain/openai');
const { tool } = require('@langchain/core/tools');
const { z } = require('zod');

const weather = tool(async () => 'rain', {
  name: 'weather',
  description: 'The weather of a city',
  schema: z.object({ city: z.string() }),
});
const ask = (model, messages) => new ChatOpenAI({ model, maxRetries: 0 }).bindTools([weather]).invoke(messages);

runAgent(sdk, 'openinference-langchain', async () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'How is the weather in Bern?' },
  ];
  const first = await ask('gpt-4o', messages);
  messages.push(first, await weather.invoke(first.tool_calls[0]));
  await ask('gpt-4o', messages);
  await ask('broken', messages);
});
