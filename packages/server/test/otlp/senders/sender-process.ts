import { spawn } from 'node:child_process';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SenderProgram } from './install.ts';
import { createModelServer } from './model-server.ts';

/** Listens on a free port of loopback and returns the URL. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Stops a server and closes its connections. */
export function stop(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/** Starts the stub of the model. Returns its URL and a function that stops it. */
export async function startModel(): Promise<{ url: string; stop: () => void }> {
  const server = createModelServer();
  const url = await listen(server);
  return { url, stop: () => stop(server) };
}

/**
 * Runs a program until it exits. Returns its exit code, or null if a signal ended it.
 * @param model the URL of the stub of the model.
 * @param settings environment variables, such as the endpoint of the program's exports.
 */
export async function runSender(
  { command, file }: SenderProgram,
  model: string,
  settings: Readonly<Record<string, string>>,
): Promise<number | null> {
  const environment = {
    ...process.env,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_SERVICE_NAME: 'senders',
    OTEL_NODE_RESOURCE_DETECTORS: 'none',
    OTEL_SEMCONV_STABILITY_OPT_IN: 'gen_ai_latest_experimental',
    // The Python instrumentation expects a destination for content here, not `true`. EVENT_ONLY sends content as log records.
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: file.endsWith('.py') ? 'EVENT_ONLY' : 'true',
    TRACELOOP_TRACE_CONTENT: 'true',
    TRACELOOP_TELEMETRY: 'false',
    CREWAI_DISABLE_TELEMETRY: 'true',
    CREWAI_TRACING_ENABLED: 'false',
    OPENAI_API_KEY: 'none',
    ANTHROPIC_API_KEY: 'none',
    OPENAI_BASE_URL: `${model}/v1`,
    OPENAI_API_BASE: `${model}/v1`,
    ANTHROPIC_BASE_URL: model,
    ...settings,
  };
  // Node's SDK names the service after the first argument, which would be a path of this machine.
  const nodeOptions = command === process.execPath ? { argv0: 'node' } : {};
  const sender = spawn(command, [file], { ...nodeOptions, env: environment, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve) => sender.once('exit', resolve));
}
