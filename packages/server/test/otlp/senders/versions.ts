/** The npm packages that produced the recorded exports. */
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

/** The Python packages of all programs that ISOLATED_PYTHON_PACKAGES does not list. */
export const PYTHON_PACKAGES = {
  'langchain-openai': '1.7.3',
  'llama-index-core': '0.14.25',
  'llama-index-llms-openai': '0.8.3',
  openai: '2.54.0',
  'openinference-instrumentation-langchain': '0.1.80',
  'openinference-instrumentation-llama-index': '4.6.1',
  'openinference-instrumentation-openai': '0.1.66',
  'opentelemetry-exporter-otlp-proto-http': '1.45.2',
  'opentelemetry-instrumentation-openai': '0.62.4',
  'opentelemetry-instrumentation-openai-v2': '2.4b0',
  'opentelemetry-sdk': '1.45.2',
  'opentelemetry-util-genai': '1.1b0',
} as const;

const CREWAI = {
  crewai: '1.15.30',
  openai: '2.54.0',
  'openinference-instrumentation-crewai': '1.1.21',
  'openinference-instrumentation-openai': '0.1.66',
  'opentelemetry-exporter-otlp-proto-http': '1.45.2',
  'opentelemetry-sdk': '1.45.2',
} as const;

const OPENAI_AGENTS = {
  'openai-agents': '0.24.0',
  'openinference-instrumentation-openai-agents': '2.6.0',
  'opentelemetry-exporter-otlp-proto-http': '1.45.2',
  'opentelemetry-sdk': '1.45.2',
} as const;

/** The packages of Python programs that need an environment of their own, by program. */
export const ISOLATED_PYTHON_PACKAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'python-openinference-crewai': CREWAI,
  'python-openinference-openai-agents': OPENAI_AGENTS,
};

/** Programs that are recorded again with other settings for the content of messages. */
export const CONTENT_SETTINGS: Readonly<Record<string, { program: string; environment: Readonly<Record<string, string>> }>> = {
  'python-otel-openai-spans': {
    program: 'python-otel-openai',
    environment: { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'SPAN_ONLY' },
  },
  'python-otel-openai-silent': {
    program: 'python-otel-openai',
    environment: { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'NO_CONTENT' },
  },
  'python-openinference-openai-silent': {
    program: 'python-openinference-openai',
    environment: { OPENINFERENCE_HIDE_INPUTS: 'true', OPENINFERENCE_HIDE_OUTPUTS: 'true' },
  },
  'python-openllmetry-openai-silent': { program: 'python-openllmetry-openai', environment: { TRACELOOP_TRACE_CONTENT: 'false' } },
};

/** The version of the Collector's builder, receivers, processors and exporters. The providers have their own version. */
export const COLLECTOR_VERSION = 'v0.165.0';

/** The components of the Collector, by section of the builder's file. */
export const COLLECTOR_MODULES = {
  receivers: { 'receiver/otlpreceiver': COLLECTOR_VERSION },
  processors: { 'processor/batchprocessor': COLLECTOR_VERSION },
  exporters: { 'exporter/otlphttpexporter': COLLECTOR_VERSION },
  providers: {
    'confmap/provider/envprovider': 'v1.71.0',
    'confmap/provider/fileprovider': 'v1.71.0',
    'confmap/provider/yamlprovider': 'v1.71.0',
  },
} as const;

/** Programs that are recorded while they export through the Collector, with their protocol: by default http/protobuf. */
export const COLLECTED_PROGRAMS: Readonly<Record<string, { program: string; environment: Readonly<Record<string, string>> }>> = {
  'collector-otel-openai': { program: 'otel-openai', environment: { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' } },
  'collector-openinference-langchain': {
    program: 'openinference-langchain',
    environment: { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  },
  'collector-python-otel-openai': { program: 'python-otel-openai', environment: {} },
};
