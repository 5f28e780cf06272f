import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

/** The options of a type check. The compiler stores its results, so the next run checks only what a change can affect. */
const typeCheckOptions = (project: string, name: string): string[] => [
  ...['--noEmit', '-p', project],
  ...['--incremental', '--tsBuildInfoFile', `node_modules/.cache/${name}.tsbuildinfo`],
];

/** The checks of the whole tree: the name of each, and the command in node_modules that runs it. */
const CHECKS: [name: string, command: string, ...args: string[]][] = [
  // Not .bin/tsc: two versions of the compiler are installed.
  ['types', 'typescript/bin/tsc', ...typeCheckOptions('.', 'types')],
  ['types of the pages', 'typescript/bin/tsc', ...typeCheckOptions('packages/portal', 'types-of-pages')],
  ['lint and format', '.bin/biome', 'check', '--error-on-warnings', '.'],
];

/** Runs the checks and returns the names of the passed and the failed ones. Writes the output of failed checks to stderr. */
export function runChecks(): { passed: string[]; failed: string[] } {
  const failed = CHECKS.filter(([name, command, ...args]) => {
    const { status, stdout, stderr } = spawnSync(`${root}node_modules/${command}`, args, { cwd: root, encoding: 'utf8' });
    if (status !== 0) process.stderr.write(`\n${name}:\n${stdout}${stderr}\n`);
    return status !== 0;
  }).map(([name]) => name);
  return { failed, passed: CHECKS.map(([name]) => name).filter((name) => !failed.includes(name)) };
}

if (import.meta.main) {
  const { passed, failed } = runChecks();
  process.stdout.write(`${passed.length} passed, ${failed.length} failed\n`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
