import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createMemoryFolder, recordTestProcess } from './memory-folder.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

const SIGNALS: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** How a run of the tests ended. */
export interface TestRun {
  /** The exit code of vitest; null if a signal ended it. */
  status: number | null;
  counts: { passed: number; failed: number };
}

/**
 * Runs vitest in the root of the repository with its output on the terminal, and counts the tests. If TMPDIR is not set, the temporary
 * files of the tests are in memory where possible (createMemoryFolder). After a signal, vitest ends first, then its files are removed.
 */
export async function runVitest(args: readonly string[]): Promise<TestRun> {
  const memoryFolder = process.env.TMPDIR === undefined ? createMemoryFolder() : undefined;
  const folder = mkdtempSync(join(memoryFolder ?? tmpdir(), 'countersign-results-'));
  const results = join(folder, 'results.json');
  const vitestArguments = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${results}`, ...args];
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...vitestArguments], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...(memoryFolder === undefined ? {} : { TMPDIR: memoryFolder }) },
  });
  try {
    if (memoryFolder !== undefined && child.pid !== undefined) recordTestProcess(memoryFolder, child.pid);
    const status = await statusOf(child);
    return { status, counts: countsOf(results) };
  } finally {
    removeFolder(memoryFolder ?? folder);
  }
}

/** Passes signals on to a child process until it ends. Returns its exit code, or null if a signal ended it. */
async function statusOf(child: ChildProcess): Promise<number | null> {
  const passOn = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, passOn);
  try {
    const [status] = await once(child, 'exit');
    return status;
  } finally {
    for (const signal of SIGNALS) process.off(signal, passOn);
  }
}

/** Removes a folder. After a signal, PostgreSQL may still write to it while it shuts down. */
function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  } catch {
    // The next run removes what is left in memory.
  }
}

/**
 * The counts that vitest wrote. One failure is added for each test file that cannot be loaded. A run that wrote no results, or
 * that failed only outside of tests, has one failure.
 */
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
