import type { Pool, PoolClient } from 'pg';

/**
 * Sets up a connection to a database with Citus. Without the extension, the statement returns no rows and changes nothing. The first
 * setting permits plans for given values (see GENERIC_PLANS): Citus cannot plan some statements without their values, because the tenant
 * determines the node. With the second setting, Citus sends `SET LOCAL` to the other nodes, so that they know the owner of a transaction.
 */
const SETTINGS = `SELECT set_config(name, value, false)
  FROM (VALUES ('plan_cache_mode', 'auto'), ('citus.propagate_set_commands', 'local')) AS settings (name, value)
 WHERE EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')`;

/** The assumed maximum time between the commits of one transaction on two machines of Citus, in milliseconds. */
export const COMMIT_GAP_MS_MAX = 1_000;

/** Whether the database of a connection, or of a pool, has Citus. A promise while the setup of a connection is running. */
const citusPresence = new WeakMap<object, boolean | Promise<boolean>>();

/** Finds out whether the database of a pool's new connection has Citus, and sets the connection up for it. */
export function detectCitus(pool: Pool, client: PoolClient): void {
  const detecting = client.query(SETTINGS).then(
    ({ rowCount }) => {
      const isCitus = rowCount !== 0;
      for (const each of [client, pool]) citusPresence.set(each, isCitus);
      return isCitus;
    },
    () => false, // the connection is broken
  );
  citusPresence.set(client, detecting);
}

/**
 * Whether the connection's database has Citus. A promise until the setup of the connection has finished. False for a connection of
 * `openShardPool`, which does not detect Citus.
 */
export const hasCitus = (client: PoolClient): boolean | Promise<boolean> => citusPresence.get(client) ?? false;

/** Whether the database of a pool has Citus. A promise until the setup of the pool's first connection has finished. */
export function isOnCitus(pool: Pool): boolean | Promise<boolean> {
  return (
    citusPresence.get(pool) ??
    pool.connect().then(async (client) => {
      try {
        return await hasCitus(client);
      } finally {
        client.release();
      }
    })
  );
}
