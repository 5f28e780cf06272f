/**
 * `npm run faults`: starts servers on this machine and causes failures. Exits with 1 if a promise does not hold, and with 2 if a fault
 * could not be run or an error ended the command.
 */
import { interruption } from '../attack/interruption.ts';
import { markdownTable } from '../attack/table.ts';
import { Cluster } from './cluster.ts';
import type { Fault, FaultOptions, FaultResult } from './fault.ts';
import { FAULTS, type FaultName } from './faults.ts';
import { HELP, readOptions } from './options.ts';

const HEAD = ['fault', 'description', 'promise', 'measured', 'acknowledged', 'lost', ''];

const cellsOf = (name: FaultName, { description, promise }: Fault, result: FaultResult): string[] => [
  `\`${name}\``,
  description,
  promise,
  result.measured,
  result.acknowledged.toLocaleString('en-US'),
  String(result.lost),
  result.violations.length === 0 ? 'holds' : '**broken**',
];

async function run({ only, ...options }: FaultOptions & { only: readonly FaultName[] }): Promise<void> {
  const lines: string[][] = [];
  for (const name of only) {
    const fault: Fault = FAULTS[name];
    const skipReason = fault.skipReason?.();
    if (skipReason !== undefined) {
      process.stderr.write(`${name}: not run, ${skipReason}\n`);
      lines.push([`\`${name}\``, fault.description, fault.promise, `not run: ${skipReason}`, '', '', '']);
      process.exitCode ??= 2;
      continue;
    }
    process.stderr.write(`${name}: ${fault.description} ...\n`);
    const result = await Promise.race([fault.run(options), interruption]);
    process.stderr.write(`  ${result.measured}\n${result.violations.map((violation) => `  broken: ${violation}\n`).join('')}`);
    lines.push(cellsOf(name, fault, result));
    if (result.violations.length > 0) process.exitCode = 1;
  }
  process.stdout.write(`${markdownTable(HEAD, lines)}\n`);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await run(options);
} catch (error) {
  process.stderr.write(`npm run faults: ${error instanceof Error ? error.message : String(error)}\n`);
  await Cluster.endAll();
  process.exit(2);
}
