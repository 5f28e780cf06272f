import type { Pool } from 'pg';
import type { CitusNode } from '../database/citus-node.ts';
import { isDatabaseUnavailable } from '../database/pool.ts';
import type { Place, TenantNodes } from '../database/tenant-nodes.ts';
import { ignoreRejection } from '../database/transaction.ts';
import { FIND_KEYS, findKeys, type KeyRecord } from './ingestion-keys.ts';

/** Reads, for each shard ID in $1, the addresses of the nodes that have the shard, joined by commas. */
const FIND_NODES = {
  name: 'find_nodes_of_shards',
  text: `SELECT placement.shardid::text AS shard, string_agg(node.nodename || ':' || node.nodeport, ',') AS node
           FROM pg_catalog.pg_dist_placement AS placement
           JOIN pg_catalog.pg_dist_node AS node ON node.groupid = placement.groupid AND node.noderole = 'primary'
          WHERE placement.shardid = ANY ($1::bigint[]) AND placement.shardstate = 1 GROUP BY 1`,
};

/** The longest wait for a node. After it, the keys are looked up through the coordinator. */
const NODE_TIMEOUT_MS = 2_000;

/** How long a node is not used after it was unavailable. */
const PAUSE_MS = 5_000;

/** If at least this many prefixes are remembered, all of them are forgotten before more are added. */
const PREFIXES_MAX = 30_000;

/** The keys to look up in one group of shards. */
interface GroupLookup {
  place: Place;
  tenants: Set<string>;
  prefixes: string[];
}

/** The address of the node of each shard, by the ID of the shard. */
type NodesOfShards = ReadonlyMap<string, string>;

/**
 * Looks up keys on the nodes of their tenants. Each node has a copy of the keys, and the heads of its tenants' key audit trails. A lookup
 * through the coordinator takes a third of the time in which the server stores an audit entry. It needs two statements, and the coordinator
 * forwards one of them to a node (docs/decisions/0059).
 *
 * During a lookup on a node, the server also asks the coordinator which node has the shards. All events of keys are written through the
 * coordinator, and are acknowledged when their node has applied them. So if the coordinator still names this node after the lookup began,
 * the node had applied every event that was acknowledged before the lookup. If the coordinator names another node, or this node fails or
 * does not have a key, the key is looked up through the coordinator.
 */
export class KeysOnNodes {
  readonly #pool: Pool;
  readonly #nodes: TenantNodes;
  readonly #findKeys: typeof findKeys;
  /** The tenant of each prefix that was found. The tenant of a prefix never changes. */
  readonly #tenants = new Map<string, string>();
  /** The time until which a node is not used, by `performance.now()`. */
  readonly #pausedUntil = new WeakMap<CitusNode, number>();

  /** @param pool connects to the coordinator. @param find looks up keys through the coordinator. */
  constructor(pool: Pool, nodes: TenantNodes, find = findKeys) {
    this.#pool = pool;
    this.#nodes = nodes;
    this.#findKeys = find;
  }

  /** Looks up the keys with these prefixes, in parts that do not wait for each other. So a node that hangs delays only its own tenants. */
  find(prefixes: readonly string[]): { prefixes: readonly string[]; found: Promise<KeyRecord[]> }[] {
    const groups = this.#groupsOf(prefixes);
    const placed = new Set(groups.flatMap((group) => group.prefixes));
    const unplaced = prefixes.filter((prefix) => !placed.has(prefix));
    const parts = unplaced.length === 0 ? [] : [{ prefixes: unplaced, found: this.#findThroughCoordinator(unplaced) }];
    if (groups.length === 0) return parts;
    const nodes = ignoreRejection(this.#nodesOf(groups.map(({ place }) => place.shards.id)));
    return [...parts, ...groups.map((group) => ({ prefixes: group.prefixes, found: this.#findGroup(group, nodes) }))];
  }

  async #findThroughCoordinator(prefixes: readonly string[]): Promise<KeyRecord[]> {
    if (prefixes.length === 0) return [];
    const found = await this.#findKeys(this.#pool, prefixes);
    if (this.#tenants.size >= PREFIXES_MAX) this.#tenants.clear();
    for (const { prefix, tenantId } of found) this.#tenants.set(prefix, tenantId);
    return found;
  }

  /** The prefixes that can be looked up on nodes, by group of shards. */
  #groupsOf(prefixes: readonly string[]): GroupLookup[] {
    const groups = new Map<string, GroupLookup>();
    for (const prefix of prefixes) {
      const tenant = this.#tenants.get(prefix);
      const place = tenant === undefined ? undefined : this.#nodes.placeOf(tenant);
      if (tenant === undefined || place === undefined) continue;
      if (performance.now() < (this.#pausedUntil.get(place.node) ?? 0)) continue;
      const group = groups.get(place.shards.id) ?? { place, tenants: new Set(), prefixes: [] };
      groups.set(place.shards.id, group);
      group.tenants.add(tenant);
      group.prefixes.push(prefix);
    }
    return [...groups.values()];
  }

  async #findGroup(group: GroupLookup, nodes: Promise<NodesOfShards>): Promise<KeyRecord[]> {
    const { place, tenants, prefixes } = group;
    const [rows, known] = await Promise.all([this.#read(group), nodes]);
    if (known.get(place.shards.id) !== place.node.name) {
      for (const tenant of tenants) this.#nodes.forgetPlace(tenant);
      return this.#findThroughCoordinator(prefixes);
    }
    const found = rows.filter(({ tenantId }) => tenants.has(tenantId));
    const missing = new Set(prefixes);
    for (const { prefix } of found) missing.delete(prefix);
    return [...found, ...(await this.#findThroughCoordinator([...missing]))];
  }

  /** Reads the keys on the node. Returns no keys if that fails. */
  async #read({ place: { node, shards }, prefixes }: GroupLookup): Promise<KeyRecord[]> {
    try {
      const query = { ...shards.rewriteForReading(FIND_KEYS), values: [prefixes], query_timeout: NODE_TIMEOUT_MS };
      return (await node.pools.lookup.query<KeyRecord>(query)).rows;
    } catch (error) {
      if (isDatabaseUnavailable(error)) this.#pausedUntil.set(node, performance.now() + PAUSE_MS);
      return [];
    }
  }

  /** Reads the addresses of the nodes of shards. Rejects if the coordinator is unavailable. */
  async #nodesOf(shards: readonly string[]): Promise<NodesOfShards> {
    const { rows } = await this.#pool.query<{ shard: string; node: string }>({ ...FIND_NODES, values: [shards] });
    return new Map(rows.map(({ shard, node }) => [shard, node]));
  }
}
