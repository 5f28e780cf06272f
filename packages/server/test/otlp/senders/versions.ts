/** The packages that the recorded exports came from. */
export const NODE_PACKAGES = {
  '@ai-sdk/openai': '3.0.141',
  '@anthropic-ai/sdk': '1.12.0',
  '@arizeai/openinference-instrumentation-anthropic': '0.2.8',
  '@arizeai/openinference-instrumentation-langchain': '4.1.1',
  '@arizeai/openinference-instrumentation-openai': '4.2.7',
  '@langchain/core': '1.4.0',
  '@langchain/openai': '1.5.8',
  '@opentelemetry/api': '1.9.1',
  '@opentelemetry/instrumentation-openai': '0.21.0',
  '@opentelemetry/sdk-node': '0.223.0',
  '@traceloop/instrumentation-openai': '0.27.0',
  ai: '6.0.326',
  openai: '6.49.0',
  zod: '4.6.7',
} as const;

export const PYTHON_PACKAGES = {} as const;
