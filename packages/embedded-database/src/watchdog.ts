import { spawn } from 'node:child_process';
import { type Account, runAs } from './database-account.ts';
import { stopSignals } from './stop-signals.ts';

/** A process that stops PostgreSQL when the keeper is killed. */
export interface Watchdog {
  /** Sets the process ID of the PostgreSQL to stop. */
  watch(postgresPid: number): void;
  /** Ends the watchdog without stopping PostgreSQL. */
  end(): void;
}

/** Shell commands that send each signal in turn until the process has ended. `kill -0` checks whether the process still runs. */
const escalation = stopSignals.map(
  ([signal, timeoutMs]) => `kill -${signal.slice(3)} "$pid" || exit
  n=${timeoutMs / 100}; while [ $n -gt 0 ]; do sleep 0.1; kill -0 "$pid" || exit; n=$((n - 1)); done`,
);

const script = `exec 2>/dev/null
read -r pid || exit
read -r _
${escalation.join('\n')}`;

/**
 * Starts a shell that reads a pipe from the keeper. The pipe ends when the keeper is killed, even if every other Node process is killed
 * too. The shell then stops PostgreSQL. Start the watchdog before PostgreSQL, because the keeper may be killed at any moment after
 * PostgreSQL has started.
 * @param cluster only for the process list, so that people see which database the shell belongs to
 */
export function startWatchdog(cluster: string, account: Account): Watchdog {
  const shell = spawn('/bin/sh', ['-c', script, 'countersign-watchdog', cluster], {
    ...runAs(account),
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // If there is no watchdog, the next keeper stops the orphaned PostgreSQL.
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  return { watch: (postgresPid) => void shell.stdin.write(`${postgresPid}\n`), end: () => void shell.kill('SIGKILL') };
}
