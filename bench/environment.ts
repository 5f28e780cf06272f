import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCOPES } from '@countersign/core/contract/scopes';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import pg from 'pg';
import { type OpenDatabase, openDatabase } from '../packages/server/src/app/open-database.ts';
import { readConfig } from '../packages/server/src/config/config.ts';
import { createWorkspace } from '../packages/server/src/workspace/create-workspace.ts';
import { mintKey } from '../packages/server/src/workspace/ingestion-keys.ts';
import { evaluationBodies } from './bodies.ts';
import { postRequest, sendAll } from './load.ts';
import { startServer } from './measured-server.ts';

/** A test environment: a separate server process with a new database, and a workspace with a key and two evaluations. */
export interface BenchEnvironment {
  port: number;
  /** An ingestion key of the workspace with all scopes. */
  key: string;
  /** The ID of the workspace. */
  tenantId: string;
  database: OpenDatabase;
  /** A connection for statements that the product's roles may not run, such as COPY of files, CHECKPOINT and CREATE TABLE. */
  superuser: pg.Client;
  /** The largest resident size of the server process (see `MeasuredServer`). */
  peakBytes(): Promise<number>;
  /** Ends the server and the database, and removes the data. */
  end(): Promise<void>;
}

/**
 * Creates a test environment.
 * @param profileFolder where the server writes its CPU profile. Undefined: no profile.
 * @param settings additional environment variables of the server.
 */
export async function createEnvironment(
  profileFolder?: string,
  settings: Record<string, string> = {},
): Promise<BenchEnvironment> {
  const cleanup = new AsyncDisposableStack();
  try {
    return await build(cleanup, profileFolder, settings);
  } catch (error) {
    await cleanup.disposeAsync();
    throw error;
  }
}

/** @param cleanup collects the cleanup of each step, which runs in reverse order. */
async function build(
  cleanup: AsyncDisposableStack,
  profileFolder: string | undefined,
  settings: Record<string, string>,
): Promise<BenchEnvironment> {
  const log = (line: string) => process.stderr.write(`${line}\n`);
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711); // if this runs as root, PostgreSQL runs as another user, who needs access
  const configuration = { COUNTERSIGN_DATA_DIR: join(folder, 'data'), COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'warn' };
  const embedded = await acquireEmbeddedDatabase({ dataDir: configuration.COUNTERSIGN_DATA_DIR, notify: log });
  cleanup.defer(() => rm(embedded.dataDir, { recursive: true, force: true })); // the embedded database may have chosen another folder
  cleanup.defer(() => embedded.release());
  const database = await openDatabase(readConfig(configuration), log, 'set-up');
  cleanup.defer(() => database.close());
  const superuser = new pg.Client({ ...embedded.superuser, application_name: 'countersign-bench' });
  await superuser.connect();
  cleanup.defer(() => superuser.end());
  const tenantId = await createWorkspace(database.pool, 'bench');
  const key = await mintKey(database.pool, tenantId, { name: 'bench', scopes: SCOPES, expiresAt: null }, 'operator');
  const server = await startServer({ ...configuration, ...settings }, profileFolder);
  cleanup.defer(() => server.stop());
  const { port } = server;
  const evaluations = evaluationBodies().map((body) => postRequest('/api/public/evaluations', key, body));
  await sendAll(port, evaluations);
  return {
    port,
    key,
    tenantId,
    database,
    superuser,
    peakBytes: server.peakBytes,
    end: () => cleanup.disposeAsync(),
  };
}
