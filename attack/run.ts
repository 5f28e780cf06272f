/**
 * `npm run attack`: for each attack, starts a server on loopback and attacks it. Exits with 1 if a bound or promise does not hold, and with
 * 2 after an error.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { areLogsValid, countLostRecords } from './acknowledged-records.ts';
import { type Attack, type Bounds, percentile } from './attack.ts';
import { ATTACKS, type AttackName } from './attacks.ts';
import { interruption } from './interruption.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { type Row, table } from './table.ts';
import { Target } from './target.ts';
import { KINDS, Victim, type VictimReport } from './victim.ts';

const MIB = 1024 * 1024;

/** Additional time for preparation, fixed waits, kills and checks. Starting and stopping the server are not included. */
const OVERTIME_SECONDS = 240;
/** An attack takes at most this many times the given seconds, in addition to fixed waits and the minimum number of kills. */
const SECONDS_FACTOR_MAX = 3;
/** The lowest expected rate of fuzzed requests. With --requests, the timeout depends on it. */
const FUZZED_PER_SECOND_MIN = 40;

async function runAttack(name: AttackName, options: Options): Promise<Row> {
  const attack: Attack = ATTACKS[name];
  const target = await Target.start(options.host, attack.settings);
  try {
    const fuzzingSeconds = (options.requests ?? 0) / FUZZED_PER_SECOND_MIN;
    const limitSeconds = SECONDS_FACTOR_MAX * options.seconds + fuzzingSeconds + OVERTIME_SECONDS;
    const timeout = sleep(limitSeconds * 1000, undefined, { ref: false }).then(() => {
      throw new Error(`${name} did not end within ${limitSeconds} s`);
    });
    timeout.catch(() => undefined);
    return await Promise.race([measure(name, attack, target, options), interruption, timeout]);
  } finally {
    await target.end();
  }
}

async function measure(name: AttackName, attack: Attack, target: Target, options: Options): Promise<Row> {
  await attack.prepare?.(target);
  const { key } = target.victim;
  const victim = new Victim({ host: target.host, port: target.port, key, senders: 4, kinds: KINDS, pauseMs: 10 });
  let peakBytes = 0;
  const sampling = setInterval(() => {
    if (target.isAlive) peakBytes = Math.max(peakBytes, target.residentBytes());
  }, 250);
  await sleep(1_000);
  const { result, report } = await Promise.race([attack.run(target, options), interruption])
    .then(async (result) => ({ result, report: await victim.stop() }))
    .finally(() => {
      clearInterval(sampling);
      return victim.end();
    });
  const lost = await countLostRecords(target, report);
  const p99 = percentile(report.latencies, 0.99);
  const slowest = percentile(report.latencies, 1);
  const measured = { p99, slowest, memoryMiB: peakBytes / MIB };
  return {
    name,
    description: attack.description,
    bound: boundText(attack),
    measured: `p99 ${p99.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms, ${measured.memoryMiB.toFixed(0)} MiB; ${result.note}`,
    rejected: result.rejected + report.rejected,
    lost,
    violations: [
      ...boundViolations(attack.bounds, measured),
      ...(await generalViolations(target, report, lost)),
      ...result.violations,
    ],
  };
}

const boundText = ({ bounds, promise }: Pick<Attack, 'bounds' | 'promise'>): string =>
  [
    bounds.victimP99Ms === undefined ? undefined : `p99 of others at most ${bounds.victimP99Ms} ms`,
    bounds.victimSlowestMs === undefined ? undefined : `slowest of others at most ${bounds.victimSlowestMs} ms`,
    bounds.memoryMiB === undefined ? undefined : `at most ${bounds.memoryMiB} MiB`,
    promise,
  ]
    .filter((each) => each !== undefined)
    .join('; ');

function boundViolations(
  bounds: Bounds,
  { p99, slowest, memoryMiB }: { p99: number; slowest: number; memoryMiB: number },
): string[] {
  const violationIfAbove = (measure: string, value: number, bound: number | undefined, unit: string) =>
    bound === undefined || value <= bound ? [] : [`${measure} is ${value.toFixed(0)} ${unit}, above ${bound} ${unit}`];
  return [
    ...violationIfAbove('the p99 of the other senders', p99, bounds.victimP99Ms, 'ms'),
    ...violationIfAbove('the slowest request of the other senders', slowest, bounds.victimSlowestMs, 'ms'),
    ...violationIfAbove('the memory of the server', memoryMiB, bounds.memoryMiB, 'MiB'),
  ];
}

/** Violations of the promises that hold for all attacks. */
async function generalViolations(target: Target, report: VictimReport, lost: number): Promise<string[]> {
  return [
    ...(target.isAlive ? [] : ['the server process ended']),
    ...(report.acknowledged.length > 0 ? [] : ['no record of the other senders was acknowledged']),
    ...(lost === 0 ? [] : [`${lost} acknowledged records are not in the database`]),
    ...((await areLogsValid(target)) ? [] : ['the logs of the other senders are not valid']),
    ...new Set(report.unexpectedResponses),
    ...target.errorLogLines.slice(0, 3),
  ];
}

async function run(options: Options): Promise<void> {
  const rows: Row[] = [];
  for (const name of options.only) {
    process.stderr.write(`${name}: ${ATTACKS[name].description} ...\n`);
    const row = await runAttack(name, options);
    process.stderr.write(`  ${row.measured}\n${row.violations.map((violation) => `  broken: ${violation}\n`).join('')}`);
    rows.push(row);
  }
  process.stdout.write(`${table(rows)}\n`);
  if (rows.some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await run(options);
} catch (error) {
  process.stderr.write(`npm run attack: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
