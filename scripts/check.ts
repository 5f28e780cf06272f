import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

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

/** The maximum output of a check. A check that writes more counts as failed. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Runs the checks one after the other, and writes the output of failed checks to stderr. Returns the names of the checks by result. */
export async function runChecks(): Promise<{ passed: string[]; failed: string[] }> {
  const [passed, failed]: [string[], string[]] = [[], []];
  for (const [name, command, ...args] of CHECKS) {
    const fault = await faultOf(command, args);
    if (fault === undefined) {
      passed.push(name);
      continue;
    }
    process.stderr.write(`\n${name}:\n${fault}\n`);
    failed.push(name);
  }
  return { passed, failed };
}

/** The output of a check that failed, or undefined if it passed. */
async function faultOf(command: string, args: readonly string[]): Promise<string | undefined> {
  try {
    await promisify(execFile)(`${root}node_modules/${command}`, args, { cwd: root, maxBuffer: OUTPUT_BYTES_MAX });
    return undefined;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    return stdout + stderr || message;
  }
}

if (import.meta.main) {
  const { passed, failed } = await runChecks();
  process.stdout.write(`${passed.length} passed, ${failed.length} failed\n`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
