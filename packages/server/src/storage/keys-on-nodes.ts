import type { Pool } from 'pg';
import { isDatabaseAway } from '../database/pool.ts';
import type { Place, TenantNodes } from '../database/tenant-nodes.ts';
import { FIND_KEYS, findKeys, type KeyRecord } from './ingestion-keys.ts';

/** $1: IDs of shards. The address of the node of each. */
const FIND_NODES = {
  name: 'find_nodes_of_shards',
  text: `SELECT placement.shardid::text AS shard, string_agg(node.nodename || ':' || node.nodeport, ',') AS node
           FROM pg_catalog.pg_dist_placement AS placement
           JOIN pg_catalog.pg_dist_node AS node ON node.groupid = placement.groupid AND node.noderole = 'primary'
          WHERE placement.shardid = ANY ($1::bigint[]) AND placement.shardstate = 1 GROUP BY 1`,
};

/** The largest number of remembered prefixes. Above it, all are forgotten. */
const PREFIXES_MAX = 30_000;

/** The keys to look up in one group of shards. */
interface GroupLookup {
  place: Place;
  tenants: Set<string>;
  prefixes: string[];
}

/**
 * Looks up keys on the nodes of their tenants, which have a copy of the keys and the heads of the key audit trails. Through the coordinator
 * it takes two statements, one of them forwarded to a node, which costs a third of the time of an audit entry (docs/decisions/0059).
 *
 * The coordinator is asked at the same time where the shards are. All events of keys are written through the coordinator. So if it still
 * knows the shards at this node after the look-up began, the node has every event that was acknowledged before. If the answer is another,
 * or anything fails, the keys are looked up through the coordinator.
 */
export class KeysOnNodes {
  readonly #pool: Pool;
  readonly #nodes: TenantNodes;
  readonly #findKeys: typeof findKeys;
  /** The tenant of each prefix that was found. It never changes. */
  readonly #tenants = new Map<string, string>();

  /** @param find looks up keys through the coordinator. */
  constructor(pool: Pool, nodes: TenantNodes, find = findKeys) {
    this.#pool = pool;
    this.#nodes = nodes;
    this.#findKeys = find;
  }

  /** Like `findKeys`. */
  async find(prefixes: readonly string[]): Promise<KeyRecord[]> {
    const groups = this.#groupsOf(prefixes);
    const placed = new Set(groups.flatMap((group) => group.prefixes));
    const [onNodes, others] = await Promise.all([
      this.#onNodes(groups),
      this.#throughCoordinator(prefixes.filter((prefix) => !placed.has(prefix))),
    ]);
    for (const { prefix } of onNodes) placed.delete(prefix);
    return [...onNodes, ...others, ...(await this.#throughCoordinator([...placed]))];
  }

  async #throughCoordinator(prefixes: readonly string[]): Promise<KeyRecord[]> {
    if (prefixes.length === 0) return [];
    const found = await this.#findKeys(this.#pool, prefixes);
    if (this.#tenants.size >= PREFIXES_MAX) this.#tenants.clear();
    for (const { prefix, tenantId } of found) this.#tenants.set(prefix, tenantId);
    return found;
  }

  /** The prefixes whose tenants and places are known, by group of shards. */
  #groupsOf(prefixes: readonly string[]): GroupLookup[] {
    const groups = new Map<string, GroupLookup>();
    for (const prefix of prefixes) {
      const tenant = this.#tenants.get(prefix);
      const place = tenant === undefined ? undefined : this.#nodes.placeOf(tenant);
      if (tenant === undefined || place === undefined) continue;
      const group = groups.get(place.shards.id) ?? { place, tenants: new Set(), prefixes: [] };
      groups.set(place.shards.id, group);
      group.tenants.add(tenant);
      group.prefixes.push(prefix);
    }
    return [...groups.values()];
  }

  /** The keys that are found on their nodes. Never rejects. */
  async #onNodes(groups: readonly GroupLookup[]): Promise<KeyRecord[]> {
    if (groups.length === 0) return [];
    const reading = groups.map((group) => this.#read(group));
    const nodes = await this.#nodesOf(groups.map(({ place }) => place.shards.id));
    const found = await Promise.all(reading);
    if (nodes === undefined) return [];
    return groups.flatMap(({ place, tenants }, index) => {
      if (nodes.get(place.shards.id) === place.node.name) return found[index]!.filter(({ tenantId }) => tenants.has(tenantId));
      for (const tenant of tenants) this.#nodes.forgetPlace(tenant);
      return [];
    });
  }

  async #read({ place: { node, shards }, prefixes }: GroupLookup): Promise<KeyRecord[]> {
    try {
      return (await node.pools.lookup.query<KeyRecord>({ ...shards.reading(FIND_KEYS), values: [prefixes] })).rows;
    } catch (error) {
      if (isDatabaseAway(error)) node.noteFailure(error);
      return [];
    }
  }

  /** The address of the node of each shard; undefined if the coordinator does not respond. */
  async #nodesOf(shards: readonly string[]): Promise<ReadonlyMap<string, string> | undefined> {
    try {
      const { rows } = await this.#pool.query<{ shard: string; node: string }>({ ...FIND_NODES, values: [shards] });
      return new Map(rows.map(({ shard, node }) => [shard, node]));
    } catch {
      return undefined;
    }
  }
}
