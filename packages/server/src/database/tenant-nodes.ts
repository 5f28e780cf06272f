import type { Pool } from 'pg';
import { CitusNode, type NodeAddress, type NodePools, type NodeReports } from './citus-node.ts';
import { CoordinatorNeededError, needsCoordinator, ShardGroup, type ShardNames } from './shard-group.ts';
import { inShardTransaction, inTenantTransaction, type Transaction } from './transaction.ts';

/** The options of TenantNodes. */
export interface TenantNodesOptions {
  /** The connections for writing to the coordinator. */
  pool: Pool;
  /** Opens connections to a node. They are closed by `close`. */
  openNodePools: (node: NodeAddress) => NodePools;
  reports: NodeReports;
}

/** Where the rows of a tenant are. */
export interface Place {
  node: CitusNode;
  shards: ShardGroup;
}

/** The cached place of a tenant. Without a place, its transactions run on the coordinator. */
interface KnownTenant {
  place: Place | undefined;
  /** After this time, by `performance.now()`, the next transaction starts another read of the place. */
  nextReadAt: number;
}

/** The shards with the rows of the tenant $1, and their nodes: one row for each shard and node. */
export const READ_PLACE = `
  SELECT node.nodename AS host, node.nodeport AS port, class.relname AS table, shard.shardid::text AS shard
    FROM pg_dist_shard AS head JOIN pg_dist_placement AS placement USING (shardid)
    JOIN pg_dist_node AS node ON node.groupid = placement.groupid AND node.noderole = 'primary' AND node.isactive AND node.metadatasynced
    JOIN pg_dist_partition AS own ON own.logicalrelid = head.logicalrelid
    JOIN pg_dist_partition AS same ON same.colocationid = own.colocationid
    JOIN pg_dist_shard AS shard ON shard.logicalrelid = same.logicalrelid AND shard.shardminvalue = head.shardminvalue
    JOIN pg_class AS class ON class.oid = shard.logicalrelid
   WHERE head.shardid = get_shard_id_for_distribution_column('countersign.log_heads', $1::uuid) AND placement.shardstate = 1`;

/** The views of the schema, with their queries. */
export const READ_VIEWS = `
  SELECT relname AS view, rtrim(pg_get_viewdef(oid), ';') AS query FROM pg_class
   WHERE relkind = 'v' AND relnamespace = 'countersign'::regnamespace ORDER BY relname`;

/** The reference tables, each with the shard that every node has. */
export const READ_REFERENCES = `
  SELECT relname AS table, shardid::text AS shard FROM pg_dist_partition JOIN pg_dist_shard USING (logicalrelid)
    JOIN pg_class ON pg_class.oid = logicalrelid
   WHERE partmethod = 'n' AND relnamespace = 'countersign'::regnamespace ORDER BY relname`;

interface ShardRow {
  table: string;
  shard: string;
}

type PlaceRow = NodeAddress & ShardRow;

const shardsOf = (rows: readonly ShardRow[]): Map<string, string> => new Map(rows.map(({ table, shard }) => [table, shard]));

/** The age at which a place is read again. If it becomes wrong earlier, `ShardGroup.keepOnNode` detects it. */
const PLACE_AGE_MAX_MS = 5 * 60_000;

/** The wait before the next read of a place that was wrong or could not be read. */
const PAUSE_MS = 5_000;

/** The largest number of cached tenants. Above it, the oldest entry is dropped. */
const TENANTS_MAX = 30_000;

/**
 * Runs the transactions of tenants directly on the nodes of Citus that have their rows. The coordinator runs them while the place is not
 * known, after it turned out to be wrong, and while the node cannot be reached. No transaction waits until a place is read. If a node
 * becomes unreachable, the first transactions on it wait until their connections fail. Later transactions do not use the node.
 */
export class TenantNodes {
  readonly #options: TenantNodesOptions;
  readonly #tenants = new Map<string, KnownTenant>();
  readonly #groups = new Map<string, ShardGroup>();
  readonly #nodes = new Map<string, CitusNode>();

  constructor(options: TenantNodesOptions) {
    this.#options = options;
  }

  /**
   * Like inTenantTransaction, on the node of the tenant if possible.
   * @throws CoordinatorNeededError if the caller must repeat the work. The repetition runs on the coordinator.
   */
  inTransaction<T>(tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const place = this.placeOf(tenantId);
    return place === undefined ? inTenantTransaction(this.#options.pool, tenantId, work) : this.#onNode(place, tenantId, work);
  }

  /**
   * Where the rows of a tenant were when their place was last read; undefined if it is not known or the node cannot be reached. The caller
   * must check that the rows are still there.
   */
  placeOf(tenantId: string): Place | undefined {
    const place = this.#knownPlaceOf(tenantId);
    return place?.node.checkReachable() === true ? place : undefined;
  }

  /** Call it if the rows of a tenant are not at their place. The place is read again after PAUSE_MS. */
  forgetPlace(tenantId: string): void {
    this.#tenants.set(tenantId, { place: undefined, nextReadAt: performance.now() + PAUSE_MS });
  }

  async #onNode<T>({ node, shards }: Place, tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    let isConnected = false;
    let keepError: unknown;
    try {
      return await inShardTransaction(node.pools.write, { tenantId, rewrite: shards.rewriteForShards }, (tx) => {
        isConnected = true;
        shards.keepOnNode(tx).catch((error: unknown) => {
          keepError = error;
        });
        return work(tx);
      });
    } catch (error) {
      if (!isConnected) {
        node.noteFailure(error);
        return inTenantTransaction(this.#options.pool, tenantId, work);
      }
      const isMoved = keepError !== undefined && needsCoordinator(keepError);
      if (!isMoved && !(error instanceof CoordinatorNeededError)) throw error;
      this.forgetPlace(tenantId);
      throw isMoved
        ? new CoordinatorNeededError('the rows of the workspace have moved to another node', { cause: error })
        : error;
    }
  }

  /** The cached place of a tenant. A missing or old one is read in the background. */
  #knownPlaceOf(tenantId: string): Place | undefined {
    const now = performance.now();
    const known = this.#tenants.get(tenantId) ?? { place: undefined, nextReadAt: 0 };
    if (now < known.nextReadAt) return known.place;
    this.#remember(tenantId, { ...known, nextReadAt: now + PAUSE_MS });
    this.#readPlace(tenantId).then(
      (place) => this.#remember(tenantId, { place, nextReadAt: performance.now() + PLACE_AGE_MAX_MS }),
      () => undefined, // The coordinator is unavailable. The next attempt follows after the pause.
    );
    return known.place;
  }

  #remember(tenantId: string, known: KnownTenant): void {
    this.#tenants.delete(tenantId);
    this.#tenants.set(tenantId, known);
    if (this.#tenants.size > TENANTS_MAX) this.#tenants.delete(this.#tenants.keys().next().value!);
  }

  async #readPlace(tenantId: string): Promise<Place | undefined> {
    const { pool } = this.#options;
    const [{ rows }, views, references] = await Promise.all([
      pool.query<PlaceRow>({ name: 'read_place', text: READ_PLACE, values: [tenantId] }),
      pool.query<{ view: string; query: string }>({ name: 'read_views', text: READ_VIEWS }),
      pool.query<ShardRow>({ name: 'read_references', text: READ_REFERENCES }),
    ]);
    const [first] = rows;
    const shards = shardsOf(rows);
    // Several rows for one table mean that shards have replicas. Only the coordinator writes to all replicas.
    if (first === undefined || shards.size < rows.length) return undefined;
    const group = this.#groupOf({
      shards,
      views: new Map(views.rows.map(({ view, query }) => [view, query])),
      references: shardsOf(references.rows),
    });
    return { node: this.#nodeAt(first), shards: group };
  }

  /** The group of these shards. Tenants on the same shards share one group, and so its rewritten statements. */
  #groupOf(names: ShardNames): ShardGroup {
    const name = JSON.stringify([[...names.shards.values()].sort(), [...names.views.values()], [...names.references.values()]]);
    const group = this.#groups.get(name) ?? new ShardGroup(names);
    this.#groups.set(name, group);
    return group;
  }

  #nodeAt({ host, port }: NodeAddress): CitusNode {
    const name = `${host}:${port}`;
    let node = this.#nodes.get(name);
    if (node === undefined) {
      node = new CitusNode({ host, port }, this.#options.openNodePools({ host, port }), this.#options.reports);
      this.#nodes.set(name, node);
    }
    return node;
  }

  /** Closes the connections to the nodes, whatever their state is. */
  async close(): Promise<void> {
    const pools = [...this.#nodes.values()].flatMap((node) => [node.pools.write, node.pools.lookup]);
    await Promise.allSettled(pools.map((pool) => pool.end()));
  }
}
