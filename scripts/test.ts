/**
 * `npm test` runs every test, and checks types, lint and format at the same time. If the tests ran, its last line is `N passed, N failed`,
 * from the actual counts. With arguments (`npm test -- packages/core`) it runs only the tests in these paths, without the checks.
 * `--tier unit` runs one tier (scripts/test-tiers.ts).
 */
import { spawnSync } from 'node:child_process';
import { runChecks } from './check.ts';
import { runVitest } from './run-vitest.ts';
import { TEST_TIERS } from './test-tiers.ts';

const vitestArguments = withProjects(process.argv.slice(2));

/** Programs that some tests need and npm cannot install. Without this check, each of those tests would fail with an unclear message. */
const PREREQUISITES = [
  {
    command: 'python3',
    args: ['--version'],
    remedy: 'Install Python 3.9 or later, which runs the independent verifier (Debian: apt-get install python3)',
  },
];

for (const { command, args, remedy } of PREREQUISITES) {
  if (spawnSync(command, args).status !== 0) {
    process.stderr.write(`npm test: ${command} is missing. ${remedy}\n`);
    process.exit(1);
  }
}

// The checks run beside the tests, because many tests wait.
const [checks, { status, counts }] = await Promise.all([
  vitestArguments.length === 0 ? runChecks() : { passed: [], failed: [] },
  runVitest(vitestArguments),
]);

const failed = counts.failed + checks.failed.length;
if (checks.failed.length > 0) process.stderr.write(`failed checks: ${checks.failed.join(', ')} (see above)\n`);
process.stdout.write(`${counts.passed + checks.passed.length} passed, ${failed} failed\n`);
process.exitCode = failed > 0 || status !== 0 ? 1 : 0;

/** Replaces `--tier NAME` by the option `--project` of vitest. Exits if there is no such tier. */
function withProjects(args: string[]): string[] {
  const names: string[] = TEST_TIERS.map(({ name }) => name);
  const at = args.indexOf('--tier');
  if (at < 0) return args;
  const tier = args[at + 1] ?? '';
  if (!names.includes(tier)) {
    process.stderr.write(`npm test: there is no tier "${tier}". Choose one of ${names.join(', ')}.\n`);
    process.exit(1);
  }
  return [...args.slice(0, at), `--project=${tier}`, ...withProjects(args.slice(at + 2))];
}
