import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, runAs } from './database-account.ts';
import { postgresEnvironment } from './postgres-settings.ts';

/** How long PostgreSQL gets to end in order, so that the whole stop of a server stays below ten seconds. */
const orderlyStopMs = 6_000;

/** How long it gets after that to end without the last checkpoint; the next start then recovers from the log. */
const immediateStopMs = 1_000;

/** A running PostgreSQL, child of the keeper. */
export interface Postmaster {
  /** Resolves when it has ended, with how. */
  readonly ended: Promise<string>;
  /** Resolves when it takes connections: true; or has ended before: false. */
  readonly ready: Promise<boolean>;
  isRunning(): boolean;
  /** Ends it in order; open connections are closed. Resolves when it has ended. */
  stop(): Promise<void>;
}

/** Starts PostgreSQL; what it says goes to the keeper's own standard output, the log file. */
export function startPostmaster(postgres: string, args: string[], cluster: string, account: Account): Postmaster {
  const child = spawn(postgres, args, { ...runAs(account), cwd: '/', env: postgresEnvironment, stdio: ['ignore', 1, 1] });
  const watchdog = child.pid === undefined ? undefined : startWatchdog(child.pid, account);
  let running = true;
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status, signal) => resolve(signal ?? `exit status ${status}`));
  }).finally(() => {
    running = false;
    watchdog?.kill('SIGKILL');
  });

  async function isReady(): Promise<boolean> {
    while (running && !saysReady(cluster, child.pid)) await Promise.race([sleep(10), ended]);
    return running;
  }

  async function stop(): Promise<void> {
    for (const [signal, patienceMs] of [
      ['SIGINT', orderlyStopMs],
      ['SIGQUIT', immediateStopMs],
      ['SIGKILL', immediateStopMs],
    ] as const) {
      if (!running) return;
      child.kill(signal);
      const patience = new AbortController();
      await Promise.race([ended, sleep(patienceMs, undefined, patience).catch(() => {})]);
      patience.abort();
    }
    await ended;
  }

  return { ended, ready: isReady(), isRunning: () => running, stop };
}

/** PostgreSQL writes its state into the last line of its lock file; `pg_ctl --wait` reads the same. */
function saysReady(cluster: string, pid: number | undefined): boolean {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

/**
 * A shell that waits for the end of a pipe. The keeper holds the other end, so when it is killed, even with every Node process on
 * the machine, PostgreSQL is still stopped in order and nothing stays behind.
 */
function startWatchdog(pid: number, account: Account): ChildProcess {
  const script = 'read -r _; kill -INT "$1" 2>/dev/null';
  const watchdog = spawn('/bin/sh', ['-c', script, 'countersign-watchdog', String(pid)], {
    ...runAs(account),
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a watchdog the next start finds what is left behind.
  watchdog.on('error', () => {});
  return watchdog;
}
