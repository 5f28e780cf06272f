import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Copies the database that the test run has made (packages/server/test/harness/global-setup.ts) into a data folder, which is created if it
 * is missing. The database is in the state after `countersign-server migrate`: with the schema, but without secrets. A copy saves most of
 * the processor time of a first start. Does nothing outside a test run, where there is no such database.
 */
export function copyPreparedCluster(dataDir: string): void {
  const prepared = process.env.DATA_FOLDER_FOR_TESTS;
  if (prepared === undefined) return;
  mkdirSync(dataDir, { recursive: true });
  // Unlike cpSync of Node, cp keeps the owner of the files. PostgreSQL runs as this user.
  execFileSync('cp', ['-a', join(prepared, 'postgres'), dataDir]);
}
