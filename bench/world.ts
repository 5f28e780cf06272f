import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SCOPES } from '@countersign/core/contract/scopes';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import pg from 'pg';
import { type OpenDatabase, openDatabase } from '../packages/server/src/app/open-database.ts';
import { readConfig } from '../packages/server/src/config/config.ts';
import { createWorkspace } from '../packages/server/src/workspace/create-workspace.ts';
import { mintKey } from '../packages/server/src/workspace/ingestion-keys.ts';
import { evaluationBodies } from './bodies.ts';
import { shot, tell } from './load.ts';

/** A server process of its own with a new database, a workspace and a key. */
export interface World {
  port: number;
  key: string;
  tenantId: string;
  database: OpenDatabase;
  /** For what the product's roles may not do: COPY of files, filling tables. */
  superuser: pg.Client;
  /** Largest resident size of the server process since its start. */
  peakBytes(): Promise<number>;
  /** Ends the server and the database, and removes the data. */
  end(): Promise<void>;
}

/**
 * Makes a world.
 * @param profileFolder where the server writes its CPU profile, if it is to.
 * @param settings of the server, besides those of every world.
 */
export async function makeWorld(profileFolder?: string, settings: Record<string, string> = {}): Promise<World> {
  const made = new AsyncDisposableStack();
  try {
    return await build(made, profileFolder, settings);
  } catch (error) {
    await made.disposeAsync();
    throw error;
  }
}

/** @param made takes how to undo each step: the last first. */
async function build(
  made: AsyncDisposableStack,
  profileFolder: string | undefined,
  settings: Record<string, string>,
): Promise<World> {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'));
  made.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711); // as root, PostgreSQL runs as another user, who must get in
  const environment = { COUNTERSIGN_DATA_DIR: join(folder, 'data'), COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'warn' };
  const embedded = await acquireEmbeddedDatabase({ dataDir: environment.COUNTERSIGN_DATA_DIR, notify: say });
  made.defer(() => rm(embedded.dataDir, { recursive: true, force: true })); // elsewhere, where the launcher has said so
  made.defer(() => embedded.release());
  const database = await openDatabase(readConfig(environment), say, 'set-up');
  made.defer(() => database.close());
  const superuser = new pg.Client({ ...embedded.superuser, application_name: 'countersign-bench' });
  await superuser.connect();
  made.defer(() => superuser.end());
  const tenantId = await createWorkspace(database.pool, 'bench');
  const key = await mintKey(database.pool, tenantId, { name: 'bench', scopes: SCOPES, expiresAt: null }, 'operator');
  const server = startServer({ ...environment, ...settings }, profileFolder);
  made.defer(() => stop(server));
  const { ready: port } = await message<{ ready: number }>(server);
  const evaluations = evaluationBodies().map((body) => shot('/api/public/evaluations', key, body));
  await tell(port, evaluations);
  return {
    port,
    key,
    tenantId,
    database,
    superuser,
    peakBytes: async () => {
      server.send('peak');
      return (await message<{ peakBytes: number }>(server)).peakBytes;
    },
    end: () => made.disposeAsync(),
  };
}

function startServer(environment: Record<string, string>, profileFolder: string | undefined): ChildProcess {
  const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  // With the flags of Node that this process was started with, by the same script as the server of `npm start`.
  return spawn(process.execPath, [...process.execArgv, ...profiling, fileURLToPath(new URL('serve.ts', import.meta.url))], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/** The server's next message; throws when it ends instead. */
async function message<M>(server: ChildProcess): Promise<M> {
  const ended = once(server, 'exit').then(([code]) => {
    throw new Error(`the measured server ended with exit code ${code}`);
  });
  ended.catch(() => undefined);
  const [answer] = await Promise.race([once(server, 'message'), ended]);
  return answer as M;
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}
