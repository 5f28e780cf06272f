/**
 * `npm run citus` starts a Citus cluster with an empty database, prints its addresses, and stops it on SIGINT or SIGTERM. With CITUS_NODES
 * it creates the database on these nodes and does not stop them.
 */
import { createCitusDatabase, createRoles, OWNER, SERVER } from './databases.ts';
import { openCitusNodes } from './nodes.ts';

const nodes = await openCitusNodes();
try {
  await createRoles(nodes);
  await createCitusDatabase(nodes, 'countersign');
  const { host, port, user } = nodes.coordinator;
  const url = (role: string) => `postgres://${role}@${host}:${port}/countersign`;
  process.stdout.write(
    `owner      ${url(OWNER)}\nserver     ${url(SERVER)}\nsuperuser  ${url(user)}\nworkers    ${nodes.workers.map((worker) => `${worker.host}:${worker.port}`).join(' ')}\n`,
  );
  await new Promise<void>((resolve) => {
    const keepAlive = setInterval(() => undefined, 60_000);
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.once(signal, () => {
        clearInterval(keepAlive);
        resolve();
      });
  });
} finally {
  await nodes.stop();
}
