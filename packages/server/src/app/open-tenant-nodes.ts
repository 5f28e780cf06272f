import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { isOnCitus } from '../database/citus-connections.ts';
import { addressOnNode } from '../database/citus-node.ts';
import { openNodePools } from '../database/pools.ts';
import { TenantNodes } from '../database/tenant-nodes.ts';
import type { OpenDatabase } from './open-database.ts';

/**
 * The nodes of Citus on which records are written and keys looked up directly. Undefined without Citus, or if the configuration forbids
 * this.
 */
export async function openTenantNodes(
  { directWrites, databaseConnections }: Pick<Config, 'directWrites' | 'databaseConnections'>,
  database: Pick<OpenDatabase, 'pool' | 'lookupPool' | 'address'>,
  log: Logger,
): Promise<TenantNodes | undefined> {
  if (!directWrites || !(await isOnCitus(database.lookupPool))) return undefined;
  return new TenantNodes({
    pool: database.pool,
    openNodePools: (node) => openNodePools(addressOnNode(database.address, node), database, databaseConnections),
    reports: {
      unreachable: (node, error) =>
        log.warn(
          { node, err: error },
          'this node of Citus cannot be reached directly; the coordinator forwards its records, which is slower',
        ),
      reachable: (node) => log.info({ node }, 'this node of Citus can be reached directly again'),
    },
  });
}
