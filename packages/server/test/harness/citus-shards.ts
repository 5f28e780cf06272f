import pg from 'pg';
import { type CitusNode, runOnNode } from '../../../../scripts/citus/nodes.ts';

/**
 * The shards on one node that a statement can use: the shards of one hash range of tenants, if the node has one, and the shards of
 * tables without hash ranges.
 */
interface ShardGroup {
  host: string;
  port: number;
  /** The name of each table's shard, by the name of the table. */
  shards: Record<string, string>;
  /** False if a tenant is given and these are the shards of other tenants. */
  isOfTenant: boolean;
}

/** Selects the shard groups. A table without hash ranges has one shard, on every node or only on the coordinator. */
const READ_SHARD_GROUPS = `
  WITH placed AS (
    SELECT relname, shardid, shardminvalue::bigint AS first, shardmaxvalue::bigint AS last, nodename, nodeport
      FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid) JOIN pg_class ON oid = logicalrelid
     WHERE relnamespace = 'countersign'::regnamespace)
  SELECT nodename AS host, nodeport AS port,
         ($1::uuid IS NULL OR first IS NULL OR worker_hash($1::uuid) BETWEEN first AND last) AS "isOfTenant",
         (SELECT json_object_agg(relname, relname || '_' || shardid) FROM placed AS each
           WHERE nodename = grouped.nodename AND nodeport = grouped.nodeport
             AND (each.first IS NULL OR each.first = grouped.first)) AS shards
    FROM (SELECT DISTINCT nodename, nodeport, first, last FROM placed) AS grouped ORDER BY first NULLS FIRST`;

/** Whether an error means that the database does not support the statement. Citus does not support some statements of PostgreSQL. */
export const isUnsupportedOnCitus = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === '0A000';

/**
 * Runs a statement directly on shards, as a superuser could, and returns the rows of all these shards. If the statement takes
 * `tenant_id` from a parameter, it runs on the shards of this tenant, otherwise on all shards. On shards, joins need no `tenant_id`, and
 * UPDATE may use functions such as now().
 */
export async function runOnShards<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  nodes: readonly CitusNode[],
  { database, text, values }: { database: string; text: string; values: unknown[] },
): Promise<Row[]> {
  const parameter = /(?:tenant_id = |^INSERT INTO \S+ \(tenant_id,[^)]*\)\s+VALUES \()\$(\d+)/.exec(text)?.[1];
  const { rows } = await pool.query<ShardGroup>(READ_SHARD_GROUPS, [
    parameter === undefined ? null : values[Number(parameter) - 1],
  ]);
  const tables = [...text.matchAll(/\bcountersign\.(\w+)/g)].map(([, table]) => table!);
  const hasAll = ({ shards }: ShardGroup) => tables.every((table) => table in shards);
  const result: Row[] = [];
  const executed = new Set<string>();
  for (const group of rows.filter((each) => each.isOfTenant && hasAll(each))) {
    const { host, port, shards } = group;
    const onShard = text.replace(/\bcountersign\.(\w+)/g, (_name, table: string) => `countersign.${shards[table]}`);
    if (executed.has(`${host}:${port} ${onShard}`)) continue;
    executed.add(`${host}:${port} ${onShard}`);
    const run = async (client: pg.Client) => {
      await client.query('SET citus.enable_manual_changes_to_shards = on');
      return (await client.query<Row>(onShard, values)).rows;
    };
    result.push(...(await runOnNode(nodes.find((node) => node.host === host && node.port === port)!, database, run)));
  }
  return result;
}

/**
 * If the statement disables or enables a trigger of a distributed table, does the same with all user triggers of the table's shards,
 * without ALWAYS. Citus itself changes only the table's own trigger, and the triggers of a shard have other names.
 */
export async function switchTriggersOfShards(pool: pg.Pool, text: string): Promise<void> {
  const [, table, verb] = /^ALTER TABLE (\S+) (DISABLE|ENABLE)(?: ALWAYS)? TRIGGER/.exec(text) ?? [];
  if (table === undefined) return;
  const distributed = await pool.query('SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1::regclass', [table]);
  if (distributed.rows.length === 0) return;
  const command = `ALTER TABLE %s ${verb} TRIGGER USER`;
  const { rows } = await pool.query('SELECT result FROM run_command_on_shards($1, $2) WHERE NOT success', [table, command]);
  if (rows.length > 0) throw new Error(`the triggers of a shard of ${table} cannot be switched: ${rows[0].result}`);
}
