import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, runAs } from './database-account.ts';
import { postgresEnvironment } from './postgres-settings.ts';
import { stopSignals } from './stop-signals.ts';
import { startWatchdog } from './watchdog.ts';

/** A PostgreSQL that runs as a child of the keeper. */
export interface Postmaster {
  /** Resolves with the exit status or signal when PostgreSQL has ended, or with the error if it could not be started. */
  readonly ended: Promise<string>;
  /** Resolves to true when PostgreSQL accepts connections, or to false if it ended first. */
  readonly ready: Promise<boolean>;
  isRunning(): boolean;
  /** Shuts PostgreSQL down and closes open connections. Resolves when it has ended. */
  stop(): Promise<void>;
}

/** Starts PostgreSQL. Its output goes to the keeper's standard output, the log file. */
export function startPostmaster(postgres: string, args: string[], cluster: string, account: Account): Postmaster {
  const watchdog = startWatchdog(cluster, account);
  const child = spawn(postgres, args, { ...runAs(account), cwd: '/', env: postgresEnvironment, stdio: ['ignore', 1, 1] });
  if (child.pid !== undefined) watchdog.watch(child.pid);
  let isRunning = true;
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status, signal) => resolve(signal ?? `exit status ${status}`));
  }).finally(() => {
    isRunning = false;
    watchdog.end();
  });

  async function waitUntilReady(): Promise<boolean> {
    while (isRunning && !reportsReady(cluster, child.pid)) await Promise.race([sleep(10), ended]);
    return isRunning;
  }

  async function stop(): Promise<void> {
    for (const [signal, timeoutMs] of stopSignals) {
      if (!isRunning) return;
      child.kill(signal);
      const timeout = new AbortController();
      await Promise.race([ended, sleep(timeoutMs, undefined, timeout).catch(() => {})]);
      timeout.abort();
    }
    await ended;
  }

  return { ended, ready: waitUntilReady(), isRunning: () => isRunning, stop };
}

/** Whether PostgreSQL accepts connections. It writes its state into the last line of its lock file; `pg_ctl --wait` reads the same line. */
function reportsReady(cluster: string, pid: number | undefined): boolean {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}
