import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Trace } from '@countersign/core/contract/trace';
import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import { agentNameOf, toEvaluations, toTrace } from './convert.ts';
import { IngestClient, IngestError } from './ingest-client.ts';
import { InvalidRunsError, type PublishedRun, readPublishedRuns } from './published-runs.ts';

const USAGE = `Usage: COUNTERSIGN_API_KEY=aa_live_... sh scripts/run.sh examples/tau-bench/import.ts [--file FILE] [--model MODEL] [--url URL]

Imports runs of τ-bench's airline agent as traces and evaluations, and requests a promotion check.

  --file FILE   a file of runs in the format of τ-bench, such as gpt-4o-airline.json (default: sample-runs.json, six
                short invented runs in the same format)
  --model MODEL the model of the runs (default gpt-4o with --file, else sample)
  --url URL     the server (default COUNTERSIGN_URL, else http://127.0.0.1 at COUNTERSIGN_PORT or 7300)
  --help        this text

The key comes from the environment variable COUNTERSIGN_API_KEY and needs the scopes telemetry, evaluations and governance.
The gate's decision goes to standard output as JSON, messages to standard error.

Exit codes: 0 everything is stored and the gate has decided, allowed or blocked; 2 usage error; 3 the file cannot be read,
has another format, or lacks the result of a tool call; 4 the server cannot be reached, rejected a request, or did not
store all spans.`;

/** Number of concurrent requests. */
const CONCURRENCY = 8;

/** Six short invented runs in the format of the published file. */
const SAMPLE = fileURLToPath(new URL('sample-runs.json', import.meta.url));

/** An error in the command line or the environment. */
class UsageError extends Error {}

/** The arguments of the command line. Undefined for --help. */
function readArguments(): { file: string; model: string; client: IngestClient } | undefined {
  const values = parsedOptions();
  if (values.help) return undefined;
  if (!/^https?:\/\//.test(values.url) || !URL.canParse(values.url))
    throw new UsageError('--url must be a URL that begins with http:// or https://');
  const url = new URL(values.url);
  // The key is not an option, because other users of the machine can read command lines, and shells store them.
  const key = process.env.COUNTERSIGN_API_KEY?.trim() ?? '';
  if (key === '') throw new UsageError('the environment variable COUNTERSIGN_API_KEY must contain an ingestion key');
  if (parseIngestionKey(key) === undefined)
    throw new UsageError('COUNTERSIGN_API_KEY is not an ingestion key (aa_live_<12 hex digits>.<secret>)');
  const model = values.model ?? (values.file === undefined ? 'sample' : 'gpt-4o');
  return { file: values.file ?? SAMPLE, model, client: new IngestClient(url, key) };
}

function parsedOptions() {
  const options = {
    file: { type: 'string' },
    model: { type: 'string' },
    url: { type: 'string', default: process.env.COUNTERSIGN_URL || `http://127.0.0.1:${process.env.COUNTERSIGN_PORT || 7300}` },
    help: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Reads and checks all runs before anything is sent. */
function readRuns(file: string): PublishedRun[] {
  let json: string;
  try {
    json = readFileSync(file, 'utf8');
  } catch (error) {
    throw new InvalidRunsError(`the file cannot be read: ${(error as Error).message}`);
  }
  return readPublishedRuns(json);
}

/** Sends all runs, several at a time. Prints the number of traces and spans, and how many traces the server already had. */
async function sendTraces(client: IngestClient, runs: readonly PublishedRun[], model: string): Promise<void> {
  const queue = runs.map((run) => toTrace(run, model));
  let [replayedTraces, storedSpans] = [0, 0];
  const send = async (trace: Trace): Promise<void> => {
    const { body, isReplay } = await client.post('api/public/traces', trace);
    const spanCount = trace.spans?.length ?? 0;
    if (body.spans_ingested !== spanCount)
      throw new IngestError(`${trace.trace_id} has ${spanCount} spans, but the server stored ${body.spans_ingested}`);
    replayedTraces += Number(isReplay);
    storedSpans += spanCount;
  };
  const worker = async (): Promise<void> => {
    for (let trace = queue.shift(); trace !== undefined; trace = queue.shift()) {
      await send(trace).catch((error: unknown) => {
        queue.length = 0; // the other workers stop too
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  say(
    `${runs.length} traces with ${storedSpans} spans` +
      (replayedTraces === 0 ? '' : `; ${replayedTraces} of the traces were already stored`),
  );
}

/** Sends the evaluations one after the other, because the gate uses the one that was recorded last. */
async function sendEvaluations(client: IngestClient, runs: readonly PublishedRun[], model: string): Promise<void> {
  for (const evaluation of toEvaluations(runs, model)) {
    const { isReplay } = await client.post('api/public/evaluations', evaluation);
    say(`evaluation "${evaluation.name}": pass rate ${evaluation.pass_rate} %${isReplay ? '; already stored' : ''}`);
  }
}

async function run(): Promise<void> {
  const options = readArguments();
  if (options === undefined) return void process.stdout.write(USAGE + '\n');
  const runs = readRuns(options.file);
  await sendTraces(options.client, runs, options.model);
  await sendEvaluations(options.client, runs, options.model);
  const agent = agentNameOf(options.model);
  const { body: decision } = await options.client.post('api/public/governance/promotion-check', { agent_name: agent });
  say(`the gate decided about ${agent}: ${decision.allowed ? 'allowed' : 'blocked'}, ${decision.reason}. ${decision.message}`);
  process.stdout.write(JSON.stringify(decision, null, 2) + '\n');
}

const say = (line: string): void => void process.stderr.write(line + '\n');

try {
  await run();
} catch (error) {
  const { message } = error as Error;
  if (error instanceof UsageError) {
    say(`${message}\n\n${USAGE}`);
    process.exitCode = 2;
  } else if (error instanceof InvalidRunsError) {
    say(`the runs cannot be imported: ${message}`);
    process.exitCode = 3;
  } else if (error instanceof IngestError) {
    say(
      `${message}\nFix this and run the same command again within 24 hours. Records that are already stored are then not stored twice.`,
    );
    process.exitCode = 4;
  } else throw error;
}
