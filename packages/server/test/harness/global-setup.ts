import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { acquireEmbeddedDatabase, type ConnectionSettings } from '@countersign/embedded-database';
import type { TestProject } from 'vitest/node';
import type { CitusNode } from '../../../../scripts/citus/nodes.ts';
import { isAlive } from '../../../embedded-database/test/harness/processes.ts';
import { migrate } from '../../src/database/migrate.ts';
import { DataFolder } from '../fixtures/server-process.ts';

/** The PostgreSQL of one test run: settings for connecting to its migrated template database, which test files clone. */
export interface TestCluster {
  superuser: ConnectionSettings;
  owner: ConnectionSettings;
  server: ConnectionSettings;
  /** The nodes, if PostgreSQL is a Citus cluster (test/citus/global-setup.ts). */
  citus?: { coordinator: CitusNode; workers: readonly CitusNode[] };
}

declare module 'vitest' {
  export interface ProvidedContext {
    cluster: TestCluster;
  }
}

/**
 * The settings of PostgreSQL for the tests. autovacuum is off, because it would connect to each database of the running test files every
 * ten seconds. fsync is off, because the data is removed after the run. Without fsync, a clone on a disk takes as long as in memory.
 */
const SETTINGS = { max_connections: '200', autovacuum: 'off', fsync: 'off', full_page_writes: 'off' };

const bundleScript = fileURLToPath(new URL('../../scripts/test-bundle.js', import.meta.url));

/** The folder for the bundles of all runs. It is in node_modules, so that a bundle finds the npm package of the embedded PostgreSQL. */
const bundlesFolder = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url));

/** The name of a bundle's folder. It contains the PID of vitest, because two runs may use the same checkout. */
const BUNDLE_NAME = /^server-for-tests-(\d+)$/;

/**
 * Starts PostgreSQL once for the whole run, on a copy of a data folder with the schema, and stops it at the end. Bundles the server for
 * tests that start it in a separate process (fixtures/server-process.ts). Does nothing if only the tier `unit` runs.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (project.vitest.projects.every(({ name }) => name === 'unit')) return undefined;
  const serverFolder = bundleServer();
  process.env.SERVER_FOR_TESTS = `${serverFolder}dist/main.js`;
  const prepared = await prepareDataFolder();
  process.env.DATA_FOLDER_FOR_TESTS = prepared.path;
  const folder = DataFolder.migrated();
  const embedded = await acquireEmbeddedDatabase({
    dataDir: folder.path,
    notify: () => undefined,
    settings: SETTINGS,
  });
  project.provide('cluster', { superuser: embedded.superuser, owner: embedded.owner, server: embedded.server });
  return async () => {
    await embedded.release();
    for (const each of [folder, prepared]) await each.clear();
    rmSync(serverFolder, { recursive: true, force: true });
  };
}

/** Creates a data folder whose database has the schema. PostgreSQL has stopped afterwards, so the database can be copied. */
async function prepareDataFolder(): Promise<DataFolder> {
  const folder = new DataFolder();
  const embedded = await acquireEmbeddedDatabase({ dataDir: folder.path, notify: () => undefined });
  await migrate(embedded.owner, { serverRole: embedded.server.user });
  await embedded.release();
  return folder;
}

/** Bundles the server into a folder of this run, and removes the folders that killed runs have left. */
function bundleServer(): string {
  mkdirSync(bundlesFolder, { recursive: true });
  for (const name of readdirSync(bundlesFolder)) {
    const pid = BUNDLE_NAME.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(`${bundlesFolder}${name}`, { recursive: true, force: true });
  }
  const folder = `${bundlesFolder}server-for-tests-${process.pid}/`;
  execFileSync(process.execPath, [bundleScript, folder], { stdio: 'inherit' });
  return folder;
}
