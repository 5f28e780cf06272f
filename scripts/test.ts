/**
 * `npm test` checks types, lint and format, then runs every test. Its last line is `N passed, N failed`, from the actual counts.
 * With arguments (`npm test -- packages/core`) it runs only those tests, without the checks. `--tier unit` runs one tier
 * (scripts/test-tiers.ts).
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChecks } from './check.ts';
import { TEST_TIERS } from './test-tiers.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const chosen = withProjects(process.argv.slice(2));

/** Programs that some tests need and npm cannot install. Without this check, each of those tests would fail with an unclear message. */
const PREREQUISITES = [
  {
    command: 'python3',
    args: ['--version'],
    remedy: 'Python 3.9 or later runs the independent verifier (Debian: apt-get install python3)',
  },
];

for (const { command, args, remedy } of PREREQUISITES) {
  if (spawnSync(command, args).status !== 0) {
    process.stderr.write(`npm test: ${command} is missing. ${remedy}\n`);
    process.exit(1);
  }
}

const checks = chosen.length === 0 ? runChecks() : { passed: [], failed: [] };
const folder = mkdtempSync(join(tmpdir(), 'countersign-results-'));
const results = join(folder, 'results.json');
const vitest = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${results}`, ...chosen];
const { status } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...vitest], {
  cwd: root,
  stdio: 'inherit',
});
const counts = countsOf(results);
rmSync(folder, { recursive: true, force: true });

const failed = counts.failed + checks.failed.length;
if (checks.failed.length > 0) process.stderr.write(`failed checks: ${checks.failed.join(', ')} (see above)\n`);
process.stdout.write(`${counts.passed + checks.passed.length} passed, ${failed} failed\n`);
process.exitCode = failed > 0 || status !== 0 ? 1 : 0;

/** Replaces `--tier NAME` by the option of vitest. An unknown tier ends the command. */
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

/** The counts that vitest wrote. A test file that cannot be loaded counts as one failure, and so does a run that wrote no results. */
function countsOf(path: string): { passed: number; failed: number } {
  try {
    const { numPassedTests, numFailedTests, numFailedTestSuites, testResults } = JSON.parse(readFileSync(path, 'utf8'));
    const unloaded = testResults.filter(
      (file: { status: string; assertionResults: unknown[] }) => file.status === 'failed' && file.assertionResults.length === 0,
    );
    return {
      passed: numPassedTests,
      failed: Math.max(numFailedTests + unloaded.length, numFailedTestSuites > 0 && numFailedTests === 0 ? 1 : 0),
    };
  } catch {
    return { passed: 0, failed: 1 };
  }
}
