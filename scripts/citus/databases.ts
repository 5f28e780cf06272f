import { type CitusNode, type CitusNodes, runOnNode } from './nodes.ts';

/** The addresses of a cluster. */
type Nodes = Pick<CitusNodes, 'coordinator' | 'workers'>;

/** The roles of a database: the owner runs the migrations, and the server owns nothing. Neither is a superuser or has BYPASSRLS. */
export const OWNER = 'countersign_owner';
export const SERVER = 'countersign_server';

const CREATE_ROLES = [OWNER, SERVER].map(
  (role) => `DO $$ BEGIN CREATE ROLE ${role} LOGIN NOSUPERUSER NOBYPASSRLS; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
);

const nodesOf = ({ coordinator, workers }: Nodes): CitusNode[] => [coordinator, ...workers];

/** Creates the roles on every node where they are missing. Citus does not copy roles that were created before its extension. */
export async function createRoles(nodes: Nodes): Promise<void> {
  for (const node of nodesOf(nodes))
    await runOnNode(node, 'postgres', async (client) => {
      await client.query('SET citus.enable_create_role_propagation = off');
      for (const statement of CREATE_ROLES) await client.query(statement);
    });
}

/** Creates an empty database with the extension on every node, and registers the workers on the coordinator. */
export async function createCitusDatabase(nodes: Nodes, name: string): Promise<void> {
  for (const node of nodesOf(nodes)) {
    await runOnNode(node, 'postgres', (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0 OWNER ${OWNER}`));
    await runOnNode(node, name, (client) => client.query('CREATE EXTENSION citus'));
  }
  const { coordinator, workers } = nodes;
  await runOnNode(coordinator, name, async (client) => {
    await client.query('SELECT citus_set_coordinator_host($1, $2)', [coordinator.host, coordinator.port]);
    for (const { host, port } of workers) await client.query('SELECT citus_add_node($1, $2)', [host, port]);
  });
}

/**
 * Ends all connections to a database on every node, and allows no new ones. The database can then be copied or dropped, because the
 * maintenance process of Citus cannot start again and keep a connection.
 */
export async function disallowConnections(nodes: Nodes, name: string): Promise<void> {
  for (const node of nodesOf(nodes))
    await runOnNode(node, 'postgres', async (client) => {
      await client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await client.query('SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1', [name]);
    });
}

/**
 * Copies a database that allows no connections, on every node under the same name. The copies form a distributed database of their own:
 * Citus stores its metadata in each database, the OIDs of tables stay the same, and nodes connect to each other by address and database
 * name.
 */
export async function copyCitusDatabase(nodes: Nodes, template: string, name: string): Promise<void> {
  const copy = `CREATE DATABASE ${name} TEMPLATE ${template} OWNER ${OWNER} STRATEGY file_copy`;
  await Promise.all(nodesOf(nodes).map((node) => runOnNode(node, 'postgres', (client) => client.query(copy))));
}

/** Drops a database on every node. */
export async function dropCitusDatabase(nodes: Nodes, name: string): Promise<void> {
  await disallowConnections(nodes, name);
  await Promise.all(
    nodesOf(nodes).map((node) => runOnNode(node, 'postgres', (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  );
}
