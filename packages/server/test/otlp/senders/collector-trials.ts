import { randomBytes } from 'node:crypto';
import type { Target } from '../../../../../attack/target.ts';
import { chatRun, id, newTrace, protobufExport } from '../test-exports.ts';
import { type Collector, startCollector, until } from './collector.ts';
import { type CountingProxy, startCountingProxy } from './counting-proxy.ts';
import { installProgram } from './install.ts';
import { runSender } from './sender-process.ts';

/** What a trial uses: a server, the URL of a model, and a Collector in front of a proxy that counts responses. */
interface TrialSetup {
  target: Target;
  model: string;
  collector: Collector;
  proxy: CountingProxy;
}

/** A trial of the Collector with a server. */
export interface CollectorTrial {
  what: string;
  /** Settings of the server. */
  server?: Readonly<Record<string, string>>;
  /** Settings of the Collector that differ from collector.yaml, by their dotted name. */
  settings?: Readonly<Record<string, string>>;
  /** The key that the Collector uses. The default is the key of the workspace. */
  key?: string;
  /** Returns what was observed. Throws if the trial failed. */
  run(setup: TrialSetup): Promise<string>;
}

const TIMEOUT_MS = 200_000;

/** The numbers of stored runs and spans. */
async function countStored({ target }: Pick<TrialSetup, 'target'>): Promise<{ runs: number; spans: number }> {
  const [row] = await target.query<{ runs: number; spans: number }>(
    'SELECT count(*)::int AS runs, coalesce(sum(span_count), 0)::int AS spans FROM countersign.traces WHERE tenant_id = $1',
    [target.attacker.tenantId],
  );
  return row!;
}

async function sendToCollector({ collector }: Pick<TrialSetup, 'collector'>, body: Uint8Array): Promise<void> {
  const headers = { 'content-type': 'application/x-protobuf' };
  const response = await fetch(`${collector.http}/v1/traces`, {
    method: 'POST',
    headers,
    body: body as NonNullable<RequestInit['body']>,
  });
  if (response.status !== 200) throw new Error(`the Collector responded with ${response.status}`);
}

/**
 * Sends each run in its own export. So the Collector sends many exports. Then waits until all are stored. Throws after 200 seconds, or if
 * the numbers of stored runs and spans differ from the numbers sent.
 * @param disturb called while the exports are sent.
 */
async function expectRunsStored(
  setup: TrialSetup,
  runCount: number,
  disturb: () => Promise<void> = async () => undefined,
): Promise<string> {
  const before = await countStored(setup);
  const sent = (async () => {
    for (let index = 0; index < runCount; index += 1) await sendToCollector(setup, protobufExport(chatRun(newTrace())));
  })();
  await Promise.all([sent, disturb()]);
  const isComplete = async () => (await countStored(setup)).spans - before.spans >= 2 * runCount;
  await until(isComplete, TIMEOUT_MS);
  const after = await countStored(setup);
  if (after.runs - before.runs !== runCount || after.spans - before.spans !== 2 * runCount)
    throw new Error(`sent ${runCount} runs, stored ${JSON.stringify({ before, after })}`);
  const statuses = [...setup.proxy.statuses].map(([status, count]) => `${count} × ${status}`);
  return `${runCount} runs sent and stored; responses: ${statuses.join(', ')}`;
}

/** Runs a real sender, and waits until this number of steps of its run is stored. Throws after 20 seconds. */
async function expectSenderStored(
  setup: TrialSetup,
  program: string,
  protocol: 'grpc' | 'http/protobuf',
  stepCount: number,
): Promise<string> {
  const { collector, model } = setup;
  const before = await countStored(setup);
  const OTEL_EXPORTER_OTLP_ENDPOINT = protocol === 'grpc' ? collector.grpc : collector.http;
  await runSender(installProgram(program), model, { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: protocol });
  await until(async () => (await countStored(setup)).spans - before.spans === stepCount, 20_000);
  return `${program} over ${protocol}: ${stepCount} steps stored`;
}

/**
 * Waits until a line in the log of the Collector matches `message`. Returns the line without its time, cut to 700 characters. Throws after
 * 20 seconds.
 */
async function waitForLogLine({ collector }: TrialSetup, message: RegExp): Promise<string> {
  const find = () =>
    collector
      .log()
      .split('\n')
      .find((line) => message.test(line));
  await until(() => find() !== undefined, 20_000);
  return find()!
    .replace(/^\S+\s+/, '')
    .slice(0, 700);
}

/** Settings of an exporter that sends each request separately and not in batches. */
const unbatched = { 'exporters.otlp_http.sending_queue.batch.min_size': '0' };

/** The trials by name. */
export const COLLECTOR_TRIALS: Readonly<Record<string, CollectorTrial>> = {
  gzip: {
    what: 'the configuration of docs/opentelemetry.md',
    run: (setup) => expectSenderStored(setup, 'otel-openai', 'grpc', 4),
  },
  uncompressed: {
    what: 'compression: none',
    settings: { 'exporters.otlp_http.compression': 'none' },
    run: (setup) => expectSenderStored(setup, 'python-otel-openai', 'http/protobuf', 4),
  },
  deflate: {
    what: 'compression: deflate',
    settings: { 'exporters.otlp_http.compression': 'deflate' },
    run: (setup) => expectSenderStored(setup, 'otel-openai', 'http/protobuf', 4),
  },
  'batch processor': {
    what: 'the batch processor before the exporter, as in many configurations',
    settings: { 'processors.batch.send_batch_size': '512', 'service.pipelines.traces.processors': '[batch]' },
    run: (setup) => expectSenderStored(setup, 'otel-openai', 'grpc', 4),
  },
  json: {
    what: 'encoding: json',
    settings: { 'exporters.otlp_http.encoding': 'json' },
    run: (setup) => expectSenderStored(setup, 'python-otel-openai', 'http/protobuf', 4),
  },
  zstd: {
    what: 'compression: zstd',
    settings: { 'exporters.otlp_http.compression': 'zstd' },
    run: async (setup) => {
      await sendToCollector(setup, protobufExport(chatRun(newTrace())));
      return waitForLogLine(setup, /Code 415/);
    },
  },
  'wrong key': {
    what: 'a key that is not valid',
    key: 'aa_live_wrong',
    run: async (setup) => {
      await sendToCollector(setup, protobufExport(chatRun(newTrace())));
      return waitForLogLine(setup, /Code 401/);
    },
  },
  'partial success': {
    what: 'valid spans and a span whose trace ID is all zeros',
    run: async (setup) => {
      const spans = [...chatRun(newTrace()), { traceId: '0'.repeat(32), spanId: id(9) }];
      await sendToCollector(setup, protobufExport(spans));
      return waitForLogLine(setup, /Partial success/);
    },
  },
  'partial success as JSON': {
    what: 'valid spans and a span whose trace ID is all zeros, with encoding: json',
    settings: { 'exporters.otlp_http.encoding': 'json' },
    run: async (setup) => {
      const spans = [...chatRun(newTrace()), { traceId: '0'.repeat(32), spanId: id(9) }];
      await sendToCollector(setup, protobufExport(spans));
      return waitForLogLine(setup, /Partial success/);
    },
  },
  429: {
    what: '30 exports with a limit of 20 a minute',
    server: { COUNTERSIGN_RATE_LIMIT_PER_MINUTE: '20' },
    settings: unbatched,
    run: (setup) => expectRunsStored(setup, 30),
  },
  503: {
    what: '200 exports with a queue of 7,000 bytes',
    server: { COUNTERSIGN_QUEUE_BYTES_MAX: '7000' },
    settings: unbatched,
    run: (setup) => expectRunsStored(setup, 200),
  },
  'killed server': {
    what: '200 exports while the server is killed and started again',
    settings: unbatched,
    run: (setup) =>
      expectRunsStored(setup, 200, async () => {
        await setup.target.kill();
        await setup.target.startProcess();
      }),
  },
  'lost responses': {
    what: '50 exports, and 20 responses that are dropped after the commit',
    settings: unbatched,
    run: (setup) => {
      setup.proxy.dropResponses(20);
      return expectRunsStored(setup, 50);
    },
  },
  'large spans': {
    what: '100 spans of 300 KB in ten requests',
    run: async (setup) => {
      const before = await countStored(setup);
      const [chat, root] = chatRun(newTrace());
      const large = () => ({ ...chat!, attributes: { 'input.value': randomBytes(150_000).toString('hex') } });
      for (let batch = 0; batch < 10; batch += 1) {
        const spans = Array.from({ length: 10 }, (_, index) => ({ ...large(), spanId: id(100 + batch * 10 + index) }));
        await sendToCollector(setup, protobufExport(batch === 9 ? [...spans, root!] : spans));
      }
      await until(async () => (await countStored(setup)).spans - before.spans === 101, 30_000);
      return `101 spans stored; responses: ${JSON.stringify([...setup.proxy.statuses])}`;
    },
  },
};

/** Runs a trial with its own Collector and proxy. The error of a failed trial contains the end of the Collector's log. */
export async function runTrial(trial: CollectorTrial, target: Target, model: string): Promise<string> {
  const proxy = await startCountingProxy(target.url);
  let collector: Collector | undefined;
  try {
    collector = await startCollector(proxy.url, trial.key ?? target.attacker.key, trial.settings);
    return await trial.run({ target, model, collector, proxy });
  } catch (error) {
    if (collector === undefined) throw error;
    throw new Error(`${(error as Error).message}\n${collector.log().slice(-3000)}`);
  } finally {
    await collector?.stop();
    proxy.stop();
  }
}
