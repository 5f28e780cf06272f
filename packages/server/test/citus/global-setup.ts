import type { TestProject } from 'vitest/node';
import { createCitusDatabase, createRoles, disallowConnections, OWNER, SERVER } from '../../../../scripts/citus/databases.ts';
import { openCitusNodes } from '../../../../scripts/citus/nodes.ts';
import { migrate } from '../../src/database/migrate.ts';

/** The templates: a migrated and distributed database, and a database that has only the extension. */
export const TEMPLATE = 'countersign_template';
export const EMPTY = 'countersign_empty';

/** Provides a Citus cluster in place of the PostgreSQL of `../harness/global-setup.ts`: one coordinator and two workers. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const nodes = await openCitusNodes();
  try {
    await createRoles(nodes);
    const settings = (user: string) => ({ ...nodes.coordinator, user, database: TEMPLATE });
    for (const name of [TEMPLATE, EMPTY]) await createCitusDatabase(nodes, name);
    await migrate(settings(OWNER), { serverRole: SERVER, citus: true });
    for (const name of [TEMPLATE, EMPTY]) await disallowConnections(nodes, name);
    project.provide('cluster', {
      superuser: settings(nodes.coordinator.user),
      owner: settings(OWNER),
      server: settings(SERVER),
      citus: { coordinator: nodes.coordinator, workers: nodes.workers },
    });
  } catch (error) {
    await nodes.stop();
    throw error;
  }
  return () => nodes.stop();
}
