/** `npm run bench` measures the server, the client and the gate (docs/performance.md). Most work is measured alternately with its limit. */
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { comparison } from './compare.ts';
import { type BenchEnvironment, createEnvironment } from './environment.ts';
import { keepResult, keptRow, machineClass, newestRows, type PartRow } from './kept-results.ts';
import { HELP, type Options, type Part, readOptions } from './options.ts';
import { type Row, targetStatus } from './rounds.ts';
import { bare } from './rows/bare.ts';
import { compareCheckouts } from './rows/checkouts.ts';
import { client } from './rows/client.ts';
import { disk } from './rows/disk.ts';
import { gate } from './rows/gate.ts';
import { largeBodies } from './rows/large-bodies.ts';
import { latency } from './rows/latency.ts';
import { memory } from './rows/memory.ts';
import { otlp } from './rows/otlp.ts';
import { proof } from './rows/proof.ts';
import { retention } from './rows/retention.ts';
import { compareFilledDatabase } from './rows/stored.ts';
import { telemetry } from './rows/telemetry.ts';
import { audit, promotion, traces } from './rows/throughput.ts';
import { trees } from './rows/trees.ts';
import { verify } from './rows/verify.ts';
import { table } from './table.ts';

/** The folder for all data of each run, with its rounds and profiles. Git ignores it. */
const OUTPUT = fileURLToPath(new URL('output/', import.meta.url));
/** The folder of the results that are committed. */
const RESULTS = fileURLToPath(new URL('results/', import.meta.url));

type Measurement = (options: Options, environment: BenchEnvironment) => Promise<Row[]>;

/**
 * Each part has its own test environment; `trees` and `stored` have two. So the tables of a part are almost empty at the start, and only
 * its own load needs memory.
 */
const parts: Record<Part, Measurement> = {
  traces: (options, environment) => traces(environment, options),
  otlp: (options, environment) => otlp(environment, options),
  telemetry: (options, environment) => telemetry(environment, options),
  audit: (options, environment) => audit(environment, options),
  promotion: (options, environment) => promotion(environment, options),
  latency: (options, environment) => latency(environment, options),
  bare: (options, environment) => bare(environment, options),
  'large-bodies': (options, environment) => largeBodies(environment, options),
  client: (options, environment) => client(environment, options),
  gate: (_options, environment) => gate(environment),
  trees: (options, withTree) =>
    inEnvironment(options, (withoutTree) => trees(withTree, withoutTree, options), { COUNTERSIGN_CHECKPOINT_SECONDS: '0' }),
  proof: (options, environment) => proof(environment, options.verifyRows, options),
  verify: ({ verifyRows }, environment) => verify(environment, verifyRows),
  stored: (options, almostEmpty) =>
    inEnvironment(options, (filled) => compareFilledDatabase(almostEmpty, filled, options.rows, options)),
  memory: ({ memorySeconds }, environment) => memory(environment, memorySeconds),
  disk: (options, environment) => disk(environment, options.runs, options),
  retention: (options, environment) => retention(environment, options.runs, options),
};

/** Measures in a new test environment and then ends it. Throws after a stop signal. */
async function inEnvironment<T>(
  options: Options,
  measure: (environment: BenchEnvironment) => Promise<T>,
  settings?: Record<string, string>,
): Promise<T> {
  const environment = await createEnvironment(options.writesProfile ? OUTPUT : undefined, settings);
  try {
    return await Promise.race([measure(environment), stopped]);
  } finally {
    await environment.end();
  }
}

/** Rejects when the benchmark receives a stop signal. The benchmark then ends its processes and removes its data. */
const stopped = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
});
stopped.catch(() => undefined);

async function run(options: Options): Promise<void> {
  await mkdir(OUTPUT, { recursive: true });
  const startedAt = new Date();
  const loadAtStart = loadavg()[0]!;
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const machine = machineClass();
  const rows: PartRow[] = [];
  const { against: folder, only } = options;
  const measurements: [name: string, measure: (environment: BenchEnvironment) => Promise<Row[]>][] =
    folder === undefined
      ? only.map((part) => [part, (environment) => parts[part](options, environment)])
      : [[`against ${folder}`, (environment) => compareCheckouts(environment, folder, options)]];
  for (const [name, measure] of measurements) {
    process.stderr.write(`measuring ${name} ...\n`);
    const measured = await inEnvironment(options, measure);
    for (const row of measured) process.stderr.write(`${table([row]).split('\n').at(-1)} ${row.note ?? ''}\n`);
    rows.push(...measured.map((row) => ({ ...row, part: name })));
  }
  const loadAverage = { start: loadAtStart, end: loadavg()[0]! };
  const result = { commit, startedAt, endedAt: new Date(), machine, loadAverage, options, rows };
  const file = `${OUTPUT}${startedAt.toISOString().replaceAll(/[:.]/g, '-')}.json`;
  await writeFile(file, JSON.stringify(result, null, 2) + '\n');
  const { cores, gib, node } = machine;
  process.stdout.write(`${table(rows)}\n\ncommit ${commit}, ${cores} cores, ${gib} GiB, Node ${node}\n${file}\n`);
  if (options.comparesWithKept) process.stdout.write(`\n${comparison(rows, newestRows(RESULTS, machine))}\n`);
  if (options.keepsResult) {
    const { rounds, seconds } = options;
    const keptResult = { date: startedAt.toISOString(), commit, machine, loadAverage, rounds, seconds, rows: rows.map(keptRow) };
    process.stdout.write(`result written to ${keepResult(RESULTS, keptResult)}\n`);
  }
  if (rows.some((row) => targetStatus(row) === 'missed')) process.exitCode = 1;
}

/** Returns the options. If one is wrong, prints the message of the error and ends the process. */
function optionsOrExit(): Options | 'help' {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

const options = optionsOrExit();
try {
  if (options === 'help') process.stdout.write(HELP);
  else await run(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 2;
}
