/** `npm run attack`: attacks a server of its own on loopback, and ends with 1 when a bound of docs/reliability.md does not hold. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, type Bounds, percentile } from './attack.ts';
import { ATTACKS, type AttackName } from './attacks.ts';
import { countLost, isLedgerWhole } from './kept.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { type Row, table } from './table.ts';
import { Target } from './target.ts';
import { KINDS, Victim, type VictimReport } from './victim.ts';

const MIB = 1024 * 1024;

/** Beyond its seconds, an attack may take so long to prepare, to end, and to be looked at. */
const OVERTIME_SECONDS = 240;

/** Ends what is under way when the command is told to stop. */
const stopped = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
});
stopped.catch(() => undefined);

async function attackOnce(name: AttackName, options: Options): Promise<Row> {
  const attack: Attack = ATTACKS[name];
  const target = await Target.start(options.host, attack.settings);
  try {
    const tooLong = sleep((options.seconds + OVERTIME_SECONDS) * 1000, undefined, { ref: false }).then(() => {
      throw new Error(`${name} did not end`);
    });
    tooLong.catch(() => undefined);
    return await Promise.race([measure(name, attack, target, options), stopped, tooLong]);
  } finally {
    await target.end();
  }
}

async function measure(name: AttackName, attack: Attack, target: Target, options: Options): Promise<Row> {
  await attack.prepare?.(target);
  const { key } = target.victim;
  const victim = new Victim({ host: target.host, port: target.port, key, senders: 4, kinds: KINDS, pauseMs: 10 });
  let peakBytes = 0;
  const watching = setInterval(() => {
    if (target.isAlive) peakBytes = Math.max(peakBytes, target.residentBytes());
  }, 250);
  await sleep(1_000);
  const { seen, report } = await Promise.race([attack.run(target, options), stopped])
    .then(async (seen) => ({ seen, report: await victim.stop() }))
    .finally(() => {
      clearInterval(watching);
      return victim.end();
    });
  const lost = await countLost(target, report);
  const p99 = percentile(report.latencies, 0.99);
  const slowest = percentile(report.latencies, 1);
  const measured = { p99, slowest, memoryMiB: peakBytes / MIB };
  return {
    name,
    what: attack.what,
    bound: boundText(attack),
    measured: `p99 ${p99.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms, ${measured.memoryMiB.toFixed(0)} MiB; ${seen.note}`,
    refused: seen.refused + report.refused,
    lost,
    broken: [...brokenOf(attack.bounds, measured), ...(await brokenAlways(target, report, lost)), ...seen.broken],
  };
}

const boundText = ({ bounds, promise }: Pick<Attack, 'bounds' | 'promise'>): string =>
  [
    bounds.victimP99Ms === undefined ? undefined : `p99 of others below ${bounds.victimP99Ms} ms`,
    bounds.victimSlowestMs === undefined ? undefined : `slowest of others below ${bounds.victimSlowestMs} ms`,
    bounds.memoryMiB === undefined ? undefined : `below ${bounds.memoryMiB} MiB`,
    promise,
  ]
    .filter((each) => each !== undefined)
    .join('; ');

function brokenOf(bounds: Bounds, { p99, slowest, memoryMiB }: { p99: number; slowest: number; memoryMiB: number }): string[] {
  const exceeds = (what: string, value: number, bound: number | undefined, unit: string) =>
    bound === undefined || value <= bound ? [] : [`${what} is ${value.toFixed(0)} ${unit}, above ${bound} ${unit}`];
  return [
    ...exceeds("the others' p99", p99, bounds.victimP99Ms, 'ms'),
    ...exceeds("the others' slowest request", slowest, bounds.victimSlowestMs, 'ms'),
    ...exceeds('the memory of the server', memoryMiB, bounds.memoryMiB, 'MiB'),
  ];
}

/** What is promised whatever the attack is. */
async function brokenAlways(target: Target, report: VictimReport, lost: number): Promise<string[]> {
  return [
    ...(target.isAlive ? [] : ['the server has ended']),
    ...(report.acknowledged.length > 0 ? [] : ['no record of others was acknowledged']),
    ...(lost === 0 ? [] : [`${lost} acknowledged records are not in the database`]),
    ...((await isLedgerWhole(target)) ? [] : ["the others' ledger is not whole"]),
    ...new Set(report.faults),
    ...target.faults.slice(0, 3),
  ];
}

async function run(options: Options): Promise<void> {
  const rows: Row[] = [];
  for (const name of options.only) {
    process.stderr.write(`${name}: ${ATTACKS[name].what} ...\n`);
    const row = await attackOnce(name, options);
    process.stderr.write(`  ${row.measured}\n${row.broken.map((what) => `  broken: ${what}\n`).join('')}`);
    rows.push(row);
  }
  process.stdout.write(`${table(rows)}\n`);
  if (rows.some(({ broken }) => broken.length > 0)) process.exitCode = 1;
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await run(options);
} catch (error) {
  process.stderr.write(`npm run attack: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
