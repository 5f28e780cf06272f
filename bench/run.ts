/** `npm run bench` measures the table of docs/performance.md, each row and its limit in turn. */
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { comparison } from './compare.ts';
import { keepResult, keptRow, machineClass, newestRows, type PartRow } from './kept-results.ts';
import { HELP, type Options, type Part, readOptions } from './options.ts';
import { goalStatus, type Row } from './rounds.ts';
import { against } from './rows/against.ts';
import { bare } from './rows/bare.ts';
import { client } from './rows/client.ts';
import { disk } from './rows/disk.ts';
import { gate } from './rows/gate.ts';
import { largeBodies } from './rows/large-bodies.ts';
import { latency } from './rows/latency.ts';
import { memory } from './rows/memory.ts';
import { otlp } from './rows/otlp.ts';
import { proof } from './rows/proof.ts';
import { retention } from './rows/retention.ts';
import { stored } from './rows/stored.ts';
import { telemetry } from './rows/telemetry.ts';
import { audit, promotion, traces } from './rows/throughput.ts';
import { trees } from './rows/trees.ts';
import { verify } from './rows/verify.ts';
import { table } from './table.ts';
import { makeWorld, type World } from './world.ts';

/** All data of each run, with its rounds and profiles. Git ignores it. */
const OUTPUT = fileURLToPath(new URL('output/', import.meta.url));
/** The results that are kept. */
const RESULTS = fileURLToPath(new URL('results/', import.meta.url));

type Measurement = (options: Options, world: World) => Promise<Row[]>;

/** Each part has its own test environment, so it starts with empty tables and its memory comes only from its own load. */
const parts: Record<Part, Measurement> = {
  traces: (pace, world) => traces(world, pace),
  otlp: (pace, world) => otlp(world, pace),
  telemetry: (pace, world) => telemetry(world, pace),
  audit: (pace, world) => audit(world, pace),
  promotion: (pace, world) => promotion(world, pace),
  latency: (pace, world) => latency(world, pace),
  bare: (pace, world) => bare(world, pace),
  'large-bodies': (pace, world) => largeBodies(world, pace),
  client: (pace, world) => client(world, pace),
  gate: (_pace, world) => gate(world),
  trees: (pace, on) => inWorld(pace, (off) => trees(on, off, pace), { COUNTERSIGN_CHECKPOINT_SECONDS: '0' }),
  proof: (pace, world) => proof(world, pace.verifyRows, pace),
  verify: ({ verifyRows }, world) => verify(world, verifyRows),
  stored: (pace, few) => inWorld(pace, (many) => stored(few, many, pace.rows, pace)),
  memory: ({ memorySeconds }, world) => memory(world, memorySeconds),
  disk: (options, world) => disk(world, options.runs, options),
  retention: (options, world) => retention(world, options.runs, options),
};

async function inWorld<T>(
  options: Options,
  measure: (world: World) => Promise<T>,
  settings?: Record<string, string>,
): Promise<T> {
  const world = await makeWorld(options.profile ? OUTPUT : undefined, settings);
  try {
    return await Promise.race([measure(world), stopped]);
  } finally {
    await world.end();
  }
}

/** Rejects when the benchmark receives a stop signal. Its processes are then ended and its data is removed. */
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
  const measurements: [name: string, measure: (world: World) => Promise<Row[]>][] =
    folder === undefined
      ? only.map((part) => [part, (world) => parts[part](options, world)])
      : [[`against ${folder}`, (world) => against(world, folder, options)]];
  for (const [name, measure] of measurements) {
    process.stderr.write(`measuring ${name} ...\n`);
    const measured = await inWorld(options, measure);
    for (const row of measured) process.stderr.write(`${table([row]).split('\n').at(-1)} ${row.note ?? ''}\n`);
    rows.push(...measured.map((row) => ({ ...row, part: name })));
  }
  const loadAverage = { start: loadAtStart, end: loadavg()[0]! };
  const result = { commit, startedAt, endedAt: new Date(), machine, loadAverage, options, rows };
  const file = `${OUTPUT}${startedAt.toISOString().replaceAll(/[:.]/g, '-')}.json`;
  await writeFile(file, JSON.stringify(result, null, 2) + '\n');
  const { cores, gib, node } = machine;
  process.stdout.write(`${table(rows)}\n\ncommit ${commit}, ${cores} cores, ${gib} GiB, Node ${node}\n${file}\n`);
  if (options.compares) process.stdout.write(`\n${comparison(rows, newestRows(RESULTS, machine))}\n`);
  if (options.keeps) {
    const { rounds, seconds } = options;
    const kept = { date: startedAt.toISOString(), commit, machine, loadAverage, rounds, seconds, rows: rows.map(keptRow) };
    process.stdout.write(`kept in ${keepResult(RESULTS, kept)}\n`);
  }
  if (rows.some((row) => goalStatus(row) === 'missed')) process.exitCode = 1;
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await run(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 2;
}
