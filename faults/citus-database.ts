import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { migrate } from '../packages/server/src/database/migrate.ts';
import type { Environment } from '../packages/server/test/fixtures/process-environment.ts';
import { createCitusDatabase, createRoles, OWNER, SERVER } from '../scripts/citus/databases.ts';
import { type CitusNodes, openCitusNodes, runOnNode } from '../scripts/citus/nodes.ts';

const NAME = 'countersign';

/** A distributed database on the nodes of CITUS_NODES, or else on a coordinator and two workers that are started on this machine. */
export class CitusDatabase {
  readonly #nodes: CitusNodes;
  readonly #secrets = {
    COUNTERSIGN_MASTER_SECRET: randomBytes(32).toString('base64'),
    COUNTERSIGN_SIGNING_KEY: generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
  #crashes = 0;

  private constructor(nodes: CitusNodes) {
    this.#nodes = nodes;
  }

  /** Opens the nodes, and creates the roles and the distributed tables. */
  static async start(): Promise<CitusDatabase> {
    const nodes = await openCitusNodes();
    try {
      await createRoles(nodes);
      await createCitusDatabase(nodes, NAME);
      await migrate({ ...nodes.coordinator, user: OWNER, database: NAME }, { serverRole: SERVER, citus: true });
    } catch (error) {
      await nodes.stop();
      throw error;
    }
    return new CitusDatabase(nodes);
  }

  /** The settings of a server on this database. */
  get environment(): Environment {
    const { host, port } = this.#nodes.coordinator;
    return {
      ...this.#secrets,
      DATABASE_URL: `postgres://${SERVER}@${host}:${port}/${NAME}`,
    };
  }

  /** Queries the database as superuser. */
  query<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    return runOnNode(this.#nodes.coordinator, NAME, async (client) => (await client.query<Row>(text, values)).rows);
  }

  /**
   * Kills all processes of one node and starts it again. Each call takes the next node: first the workers, then the coordinator. Rejects
   * for nodes of CITUS_NODES.
   */
  async crash(): Promise<void> {
    const { coordinator, workers } = this.#nodes;
    const nodes = [...workers, coordinator];
    await this.#nodes.crash(nodes[this.#crashes++ % nodes.length]!);
  }

  stop(): Promise<void> {
    return this.#nodes.stop();
  }
}
