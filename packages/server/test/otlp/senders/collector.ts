import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../../../attack/loopback.ts';
import { buildCollector } from './install.ts';

const config = fileURLToPath(new URL('./collector.yaml', import.meta.url));
const STARTED = 'Everything is ready';
const START_TIMEOUT_MS = 20_000;

/** A running OpenTelemetry Collector. Its configuration is collector.yaml (see docs/opentelemetry.md) with some changed settings. */
export interface Collector {
  /** The URLs at which it receives OTLP over gRPC and over HTTP. */
  grpc: string;
  http: string;
  /** Returns what the Collector has logged. */
  log(): string;
  /** Stops the Collector after it has sent the records in its queue. */
  stop(): Promise<void>;
}

/**
 * Starts a Collector on free ports of loopback.
 * @param endpoint the URL of the server to which it exports.
 * @param key the key that it sends with each export.
 * @param changedSettings settings that differ from collector.yaml, by their dotted name.
 */
export async function startCollector(
  endpoint: string,
  key: string,
  changedSettings: Readonly<Record<string, string>> = {},
): Promise<Collector> {
  const [grpc, http] = [`127.0.0.1:${await freePort('127.0.0.1')}`, `127.0.0.1:${await freePort('127.0.0.1')}`];
  const settings = {
    'receivers.otlp.protocols.grpc.endpoint': grpc,
    'receivers.otlp.protocols.http.endpoint': http,
    'service.telemetry.metrics.level': 'none',
    'exporters.otlp_http.endpoint': endpoint,
    ...changedSettings,
  };
  const options = Object.entries(settings).map(([name, value]) => `--set=${name}=${value}`);
  const child = spawn(buildCollector(), ['--config', config, ...options], {
    env: { ...process.env, COUNTERSIGN_API_KEY: key },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await until(() => {
    if (child.exitCode !== null) throw new Error(`the Collector has ended: ${log}`);
    return log.includes(STARTED);
  }, START_TIMEOUT_MS);
  return {
    grpc: `http://${grpc}`,
    http: `http://${http}`,
    log: () => log,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Waits until a condition holds. Throws after the timeout. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`the condition did not hold within ${timeoutMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
