import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireEmbeddedDatabase, type ConnectionSettings } from '@countersign/embedded-database';
import type { TestProject } from 'vitest/node';
import type { CitusNode } from '../../../../scripts/citus/nodes.ts';
import { migrate } from '../../src/database/migrate.ts';

/** The PostgreSQL of one test run, with a migrated template that each test file clones. */
export interface TestCluster {
  superuser: ConnectionSettings;
  owner: ConnectionSettings;
  server: ConnectionSettings;
  /** The nodes, if it is a cluster of Citus (test/citus/global-setup.ts). */
  citus?: { coordinator: CitusNode; workers: readonly CitusNode[] };
}

declare module 'vitest' {
  export interface ProvidedContext {
    cluster: TestCluster;
  }
}

const bundle = fileURLToPath(new URL('../../scripts/test-bundle.js', import.meta.url));

/**
 * Starts PostgreSQL once for the whole run and stops it at the end. Bundles the server for tests that start it in a process of its own
 * (fixtures/server-process.ts). A run of only the tier `unit` needs neither.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (project.vitest.projects.every(({ name }) => name === 'unit')) return undefined;
  process.env.SERVER_FOR_TESTS = execFileSync(process.execPath, [bundle], { encoding: 'utf8' });
  const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
  chmodSync(folder, 0o755); // when run by root, PostgreSQL runs as another user that needs access
  const embedded = await acquireEmbeddedDatabase({
    dataDir: folder,
    notify: () => undefined,
    settings: { max_connections: '200' },
  });
  await migrate(embedded.owner, { serverRole: embedded.server.user });
  project.provide('cluster', { superuser: embedded.superuser, owner: embedded.owner, server: embedded.server });
  return async () => {
    await embedded.release();
    rmSync(folder, { recursive: true, force: true });
  };
}
