import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Trace } from '@countersign/core/contract/trace';
import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import { agentNameOf, toEvaluations, toTrace } from './convert.ts';
import { IngestClient, NotTaken } from './ingest-client.ts';
import { NotPublishedRuns, type PublishedRun, readPublishedRuns } from './published-runs.ts';

const USAGE = `Usage: COUNTERSIGN_API_KEY=aa_live_... sh scripts/run.sh examples/tau-bench/import.ts [--file FILE] [--model MODEL] [--url URL]

Imports runs of τ-bench's airline agent as traces and evaluations, and asks the gate about the agent.

  --file FILE   a file of runs as τ-bench publishes it, such as gpt-4o-airline.json (default: six short runs that we
                wrote in the same format, sample-runs.json)
  --model MODEL the model that played the runs (default gpt-4o with --file, else sample)
  --url URL     the server (default COUNTERSIGN_URL, else http://127.0.0.1 at COUNTERSIGN_PORT or 7300)
  --help        this text

The key comes from the environment variable COUNTERSIGN_API_KEY and needs the scopes telemetry, evaluations and governance.
The gate's decision goes to standard output as JSON, everything else to standard error.

Exit codes: 0 all is stored and the gate has answered, whatever it answered; 2 wrong use; 3 the file cannot be read or is
not what is published; 4 the server cannot be reached or refused something.`;

/** How many requests are under way at once. */
const CONCURRENCY = 8;

/** Six short runs of our own, in the format of the published file. */
const SAMPLE = fileURLToPath(new URL('sample-runs.json', import.meta.url));

/** The command line is wrong. */
class WrongUse extends Error {}

/** What was asked for. Undefined when it was help. */
function readArguments(): { file: string; model: string; client: IngestClient } | undefined {
  const values = parsedOptions();
  if (values.help) return undefined;
  if (!/^https?:\/\//.test(values.url) || !URL.canParse(values.url))
    throw new WrongUse('--url must be a URL that begins with http:// or https://');
  const url = new URL(values.url);
  // Never a flag: other users of a machine can read its command lines, and shells keep them.
  const key = process.env.COUNTERSIGN_API_KEY?.trim() ?? '';
  if (key === '') throw new WrongUse('the environment variable COUNTERSIGN_API_KEY must contain an ingestion key');
  if (parseIngestionKey(key) === undefined)
    throw new WrongUse('COUNTERSIGN_API_KEY does not hold an ingestion key (aa_live_<12 hex digits>.<secret>)');
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
    throw new WrongUse((error as Error).message);
  }
}

/** The runs, converted to what will be sent, before anything is. */
function readRuns(file: string): PublishedRun[] {
  let json: string;
  try {
    json = readFileSync(file, 'utf8');
  } catch (error) {
    throw new NotPublishedRuns(`the file cannot be read: ${(error as Error).message}`);
  }
  return readPublishedRuns(json);
}

/** Stores all runs, a few at a time, and says how many the server had already. */
async function sendTraces(client: IngestClient, runs: readonly PublishedRun[], model: string): Promise<void> {
  const waiting = runs.map((run) => toTrace(run, model));
  let [replayed, spans] = [0, 0];
  const send = async (trace: Trace): Promise<void> => {
    const { body, replayed: again } = await client.post('api/public/traces', trace);
    const sent = trace.spans?.length ?? 0;
    if (body.spans_ingested !== sent)
      throw new NotTaken(`${trace.trace_id} has ${sent} spans, the server took ${body.spans_ingested}`);
    replayed += Number(again);
    spans += sent;
  };
  const worker = async (): Promise<void> => {
    for (let trace = waiting.shift(); trace !== undefined; trace = waiting.shift()) {
      await send(trace).catch((error: unknown) => {
        waiting.length = 0; // the others stop too
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  say(`${runs.length} traces with ${spans} spans` + (replayed === 0 ? '' : `; ${replayed} of the traces were there already`));
}

/** One after the other: which one was recorded last decides what the gate looks at. */
async function sendEvaluations(client: IngestClient, runs: readonly PublishedRun[], model: string): Promise<void> {
  for (const evaluation of toEvaluations(runs, model)) {
    const { replayed } = await client.post('api/public/evaluations', evaluation);
    say(`evaluation "${evaluation.name}": pass rate ${evaluation.pass_rate} %${replayed ? '; was there already' : ''}`);
  }
}

async function run(): Promise<void> {
  const asked = readArguments();
  if (asked === undefined) return void process.stdout.write(USAGE + '\n');
  const runs = readRuns(asked.file);
  await sendTraces(asked.client, runs, asked.model);
  await sendEvaluations(asked.client, runs, asked.model);
  const agent = agentNameOf(asked.model);
  const { body: decision } = await asked.client.post('api/public/governance/promotion-check', { agent_name: agent });
  say(`the gate, asked about ${agent}: ${decision.allowed ? 'allowed' : 'blocked'}, ${decision.reason}. ${decision.message}`);
  process.stdout.write(JSON.stringify(decision, null, 2) + '\n');
}

const say = (line: string): void => void process.stderr.write(line + '\n');

try {
  await run();
} catch (error) {
  const { message } = error as Error;
  if (error instanceof WrongUse) {
    say(`${message}\n\n${USAGE}`);
    process.exitCode = 2;
  } else if (error instanceof NotPublishedRuns) {
    say(`no published runs of τ-bench: ${message}`);
    process.exitCode = 3;
  } else if (error instanceof NotTaken) {
    say(`${message}\nonce that is put right, run the same command again: what is stored already is not stored twice`);
    process.exitCode = 4;
  } else throw error;
}
