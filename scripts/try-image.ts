import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { check, checkEndpoints, checkFromOutside, checkLogs } from './container-checks.ts';

/** The ID of the user and of the group that run the image. */
const USER_ID = 10_001;

/** Runs commands of an image with a read-only root, an unprivileged user and one volume. */
class Image {
  readonly #root: string;
  readonly #volume: string;

  constructor(root: string, volume: string) {
    this.#root = root;
    this.#volume = volume;
  }

  #arguments(command: readonly string[]): string[] {
    const home = '/var/lib/countersign';
    const mounts = ['--ro-bind', this.#root, '/', '--bind', this.#volume, home, '--proc', '/proc', '--dev', '/dev'];
    const environment = {
      PATH: '/opt/countersign/bin:/usr/bin:/bin',
      COUNTERSIGN_HOST: '0.0.0.0',
      COUNTERSIGN_BEHIND_PROXY: 'true',
      COUNTERSIGN_DATA_DIR: `${home}/data`,
    };
    const settings = Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]);
    const rights = ['--unshare-pid', '--as-pid-1', '--cap-drop', 'ALL', '--die-with-parent', '--chdir', '/'];
    const user = ['setpriv', `--reuid=${USER_ID}`, `--regid=${USER_ID}`, '--clear-groups', '--no-new-privs'];
    return [
      ...mounts,
      '--clearenv',
      ...settings,
      ...rights,
      '--cap-add',
      'CAP_SETUID',
      '--cap-add',
      'CAP_SETGID',
      ...user,
      ...command,
    ];
  }

  start(...command: string[]): ChildProcess {
    return spawn('bwrap', this.#arguments(command), { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  run(...command: string[]): { status: number | null; stdout: string; stderr: string } {
    return spawnSync('bwrap', this.#arguments(command), { encoding: 'utf8' });
  }

  /** Runs a command that must succeed, and returns what it prints. */
  output(...command: string[]): string {
    const { status, stdout, stderr } = this.run(...command);
    if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`);
    return stdout.trim();
  }
}

/** The process ID of the only child of bubblewrap: the server, which is process 1 of its container. */
const childOf = (pid: number): number => Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10);

async function becomesReady(image: Image): Promise<boolean> {
  for (let tries = 0; tries < 120; tries += 1) {
    if (image.run('healthcheck').status === 0) return true;
    await sleep(500);
  }
  return false;
}

async function tryImage(image: Image): Promise<void> {
  check('the root file system is read-only', image.run('touch', '/opt/countersign/x').stderr.includes('Read-only file system'));
  check('the user is unprivileged', image.output('id', '-u') === String(USER_ID));
  check('the health check fails without a server', image.run('healthcheck').status === 1);
  const server = image.start('countersign-server', 'serve');
  let serverOutput = '';
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (text: Buffer) => (serverOutput += String(text)));
  const ended = new Promise<number | null>((resolve) => server.once('exit', resolve));
  check('the server becomes ready', await becomesReady(image));
  const run = (...command: string[]) => image.output(...command);
  await checkEndpoints(run);
  await checkFromOutside(run);
  checkLogs(run);
  process.kill(childOf(server.pid!), 'SIGTERM');
  const status = await Promise.race([ended, sleep(15_000).then(() => undefined)]);
  check(`SIGTERM shuts the server down cleanly (exit code ${status})`, status === 0);
  if (process.exitCode === 1) process.stderr.write(serverOutput);
}

const volume = mkdtempSync(join(tmpdir(), 'countersign-image-'));
chownSync(volume, USER_ID, USER_ID);
chmodSync(volume, 0o700);
try {
  await tryImage(new Image(process.argv[2]!, volume));
} finally {
  rmSync(volume, { recursive: true, force: true });
}
