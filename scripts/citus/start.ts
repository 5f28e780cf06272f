/** `npm run citus` starts a Citus cluster with an empty database, prints its addresses, and stops it when it is interrupted. */
import { createCitusDatabase, createRoles, OWNER, SERVER } from './databases.ts';
import { openCitusNodes } from './nodes.ts';

const nodes = await openCitusNodes();
try {
  await createRoles(nodes);
  await createCitusDatabase(nodes, 'countersign');
  const { host, port, user } = nodes.coordinator;
  const url = (role: string) => `postgres://${role}@${host}:${port}/countersign`;
  process.stdout.write(
    `owner      ${url(OWNER)}\nserver     ${url(SERVER)}\nsuperuser  ${url(user)}\nworkers    ${nodes.workers.map((worker) => worker.port).join(' ')}\n`,
  );
  await new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve);
    setInterval(() => undefined, 60_000);
  });
} finally {
  await nodes.stop();
  process.exit();
}
