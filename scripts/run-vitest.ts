import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createMemoryFolder } from './memory-folder.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** How a run of the tests ended. */
export interface TestRun {
  status: number | null;
  counts: { passed: number; failed: number };
}

/**
 * Runs vitest in the root of the repository with its output on the terminal, and counts the tests. Their temporary files are in memory if
 * it is large enough and TMPDIR is not set.
 */
export function runVitest(args: readonly string[]): TestRun {
  const inMemory = process.env.TMPDIR === undefined ? createMemoryFolder() : undefined;
  const folder = mkdtempSync(join(inMemory ?? tmpdir(), 'countersign-results-'));
  const results = join(folder, 'results.json');
  const vitest = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${results}`, ...args];
  const { status } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...vitest], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...(inMemory === undefined ? {} : { TMPDIR: inMemory }) },
  });
  const counts = countsOf(results);
  rmSync(inMemory ?? folder, { recursive: true, force: true });
  return { status, counts };
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
