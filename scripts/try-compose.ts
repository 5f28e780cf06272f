/**
 * Builds the image of the committed files with Docker, runs it with compose.yaml in a project of its own, and checks it. Needs Docker with
 * Compose 2 or later, OpenSSL, and the images that Containerfile and compose.yaml name. Port 7300 must be free.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, checkEndpoints, checkFromOutside, checkKeptData, checkLogs, SERVER_URL } from './container-checks.ts';

const checkout = fileURLToPath(new URL('../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'countersign-compose-'));
const options = { cwd: folder, encoding: 'utf8', env: { ...process.env, COMPOSE_PROJECT_NAME: 'countersign-try' } } as const;

/** Runs a command that must succeed, and shows its output. */
function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { ...options, stdio: ['ignore', 2, 2] });
}

/** Runs a command that must succeed, and returns what it prints. */
const outputOf = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { ...options, stdio: ['ignore', 'pipe', 2] }).trim();

const compose = (...args: string[]): void => run('docker', 'compose', ...args);

const runInServer = (...command: string[]): string => outputOf('docker', 'compose', 'exec', '-T', 'server', ...command);

/** What a command in the container of the server writes to stderr. The command may fail. */
const readErrorInServer = (...command: string[]): string =>
  spawnSync('docker', ['compose', 'exec', '-T', 'server', ...command], options).stderr;

/** What `docker inspect` prints about the container of the server. */
function inspectServer() {
  const [container] = JSON.parse(
    outputOf('docker', 'inspect', outputOf('docker', 'compose', 'ps', '--all', '--quiet', 'server')),
  );
  return container as {
    Config: { User: string };
    HostConfig: { ReadonlyRootfs: boolean; CapDrop: string[]; SecurityOpt: string[] };
    State: { ExitCode: number; Health: { Status: string } };
  };
}

function checkIsolation(): void {
  const { Config, HostConfig, State } = inspectServer();
  check(`the server is ${State.Health.Status}`, State.Health.Status === 'healthy');
  check(`the user is ${Config.User}`, Config.User === '10001:10001' && runInServer('id', '-u') === '10001');
  const isWriteRefused = readErrorInServer('touch', '/opt/x').includes('Read-only file system');
  check('the root file system is read-only', HostConfig.ReadonlyRootfs && isWriteRefused);
  const rights = runInServer('grep', '-E', '^(CapEff|CapBnd|NoNewPrivs)', '/proc/1/status').replace(/\s+/g, ' ');
  check(`the rights of process 1: ${rights}`, /^CapEff: 0+ CapBnd: 0+ NoNewPrivs: 1$/.test(rights));
}

/** Checks that the server stops cleanly. `docker compose stop` sends SIGTERM. */
function checkStop(): void {
  const start = performance.now();
  compose('stop', 'server');
  const seconds = (performance.now() - start) / 1000;
  const { ExitCode } = inspectServer().State;
  const isLogged = outputOf('docker', 'compose', 'logs', '--no-log-prefix', '--tail', '1', 'server').includes('"msg":"stopped"');
  check(
    `SIGTERM stops the server in ${seconds.toFixed(1)} s with exit code ${ExitCode}`,
    ExitCode === 0 && isLogged && seconds < 10,
  );
}

async function tryCompose(): Promise<void> {
  run('sh', 'scripts/image/make-secrets.sh');
  compose('up', '--build', '--detach', '--wait');
  checkIsolation();
  const key = await checkEndpoints(runInServer);
  await checkFromOutside(runInServer);
  checkLogs(runInServer);
  compose('restart');
  compose('up', '--detach', '--wait');
  await checkKeptData(key, 'after a restart');
  compose('down');
  const response = await fetch(SERVER_URL).catch(() => undefined);
  check('down removes the containers', response === undefined && outputOf('docker', 'compose', 'ps', '--all', '--quiet') === '');
  compose('up', '--detach', '--wait');
  await checkKeptData(key, 'after down and up');
  checkLogs(runInServer);
  checkStop();
}

try {
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: checkout, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x'], { cwd: folder, input: archive });
  await tryCompose();
} finally {
  if (process.exitCode === 1) spawnSync('docker', ['compose', 'logs'], { ...options, stdio: ['ignore', 2, 2] });
  spawnSync('docker', ['compose', 'down', '--volumes'], { ...options, stdio: ['ignore', 2, 2] });
  rmSync(folder, { recursive: true, force: true });
}
