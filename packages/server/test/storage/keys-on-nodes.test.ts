import type { Pool } from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { ShardGroup } from '../../src/database/shard-group.ts';
import type { Place, TenantNodes } from '../../src/database/tenant-nodes.ts';
import type { KeyRecord } from '../../src/storage/ingestion-keys.ts';
import { KeysOnNodes } from '../../src/storage/keys-on-nodes.ts';

const NODE_NAME = 'worker-1:5432';

const keyOf = (prefix: string, tenantId: string, trailVersion: number): KeyRecord => ({
  prefix,
  tenantId,
  keyId: `id of ${prefix}`,
  secretSha256: Buffer.alloc(32),
  trailSeal: Buffer.of(trailVersion),
});

/** The pool and the statement name of each query, in the order of sending. */
let sentQueries: string[];
/** The responses of the coordinator and of the node, and whether the node is reachable. */
interface Cluster {
  onCoordinator: () => KeyRecord[];
  nodeOfShards: () => string;
  onNode: () => KeyRecord[] | Promise<never>;
  isReachable: boolean;
}
let cluster: Cluster;
/** The tenants whose place was forgotten because the place was wrong. */
let forgottenTenants: string[];

function fail(code: string): never {
  throw Object.assign(new Error('failed'), { code });
}

const poolOf = (server: string, respond: (name: string, values: unknown[]) => unknown[] | Promise<never>): Pool =>
  ({
    query: async ({ name, values }: { name: string; values: unknown[] }) => {
      sentQueries.push(`${server} ${name}`);
      return { rows: await respond(name, values) };
    },
  }) as unknown as Pool;

const findOnCoordinator = async (pool: Pool, prefixes: readonly string[]): Promise<KeyRecord[]> =>
  (await pool.query<KeyRecord>({ name: 'find_keys', text: '', values: [prefixes] })).rows;

const place: Place = {
  node: {
    name: NODE_NAME,
    pools: { lookup: poolOf('node', () => cluster.onNode()) },
  } as unknown as Place['node'],
  shards: new ShardGroup({
    shards: new Map([['log_heads', '102001']]),
    views: new Map(),
    references: new Map([['ingestion_keys', '102002']]),
  }),
};

const nodes = {
  placeOf: () => (cluster.isReachable ? place : undefined),
  forgetPlace: (tenantId: string) => void forgottenTenants.push(tenantId),
} as unknown as TenantNodes;

let keys: KeysOnNodes;
const find = async (prefixes: string[]): Promise<KeyRecord[]> =>
  (await Promise.all(keys.find(prefixes).map(({ found }) => found))).flat();

beforeEach(async () => {
  cluster = {
    onCoordinator: () => [keyOf('a', 'tenant-1', 1), keyOf('b', 'tenant-2', 1)],
    nodeOfShards: () => NODE_NAME,
    onNode: () => [keyOf('a', 'tenant-1', 2)],
    isReachable: true,
  };
  [sentQueries, forgottenTenants] = [[], []];
  const coordinator = poolOf('coordinator', (name, [wanted]) =>
    name === 'find_nodes_of_shards'
      ? [{ shard: '102001', node: cluster.nodeOfShards() }]
      : cluster.onCoordinator().filter(({ prefix }) => (wanted as string[]).includes(prefix)),
  );
  keys = new KeysOnNodes(coordinator, nodes, findOnCoordinator);
  await find(['a']); // the tenant of this key is known from now on
  sentQueries = [];
});

describe('the lookup of keys on nodes', () => {
  test('reads a key of a known tenant on its node, while the coordinator confirms the node', async () => {
    expect(await find(['a'])).toEqual([keyOf('a', 'tenant-1', 2)]);
    expect(sentQueries).toEqual(['coordinator find_nodes_of_shards', 'node find_keys@102001']);
  });

  test('reads a key with an unknown prefix through the coordinator, and remembers the tenant of the key', async () => {
    expect(await find(['b', 'a', 'nobody'])).toEqual([keyOf('b', 'tenant-2', 1), keyOf('a', 'tenant-1', 2)]);
    expect(sentQueries).toEqual(['coordinator find_keys', 'coordinator find_nodes_of_shards', 'node find_keys@102001']);
    cluster.onNode = () => [keyOf('b', 'tenant-2', 5)];
    expect(await find(['b'])).toEqual([keyOf('b', 'tenant-2', 5)]);
  });

  test.each<[string, Partial<Cluster> & { forgets?: string[] }]>([
    ['the shards have moved', { nodeOfShards: () => 'worker-2:5432', forgets: ['tenant-1'] }],
    ['the shards have several nodes', { nodeOfShards: () => `${NODE_NAME},worker-2:5432`, forgets: ['tenant-1'] }],
    ['the key is not on the node', { onNode: () => [] }],
    ['the key belongs to another tenant on the node', { onNode: () => [keyOf('a', 'tenant-2', 2)] }],
    ['the node is not reachable', { isReachable: false }],
    ['the shard was removed from the node', { onNode: () => fail('42P01') }],
  ])('reads the key through the coordinator if %s, and forgets a wrong place', async (_, { forgets = [], ...changes }) => {
    Object.assign(cluster, changes);
    expect(await find(['a'])).toEqual([keyOf('a', 'tenant-1', 1)]);
    expect(sentQueries.at(-1)).toBe('coordinator find_keys');
    expect(forgottenTenants).toEqual(forgets);
  });

  test('after a failed connection to the node, reads the key through the coordinator, and does not use the node for a while', async () => {
    cluster.onNode = () => fail('ECONNRESET');
    expect(await find(['a'])).toEqual([keyOf('a', 'tenant-1', 1)]);
    sentQueries = [];
    expect(await find(['a'])).toEqual([keyOf('a', 'tenant-1', 1)]);
    expect(sentQueries).toEqual(['coordinator find_keys']);
  });

  test('does not let a node that hangs delay other keys', async () => {
    cluster.onNode = () => new Promise<never>(() => undefined);
    const lookups = keys.find(['a', 'b']);
    expect(lookups.map(({ prefixes }) => prefixes)).toEqual([['b'], ['a']]);
    expect(await lookups[0]!.found).toEqual([keyOf('b', 'tenant-2', 1)]);
  });

  test('fails without a second attempt if the connection to the coordinator fails, and forgets no place', async () => {
    cluster.nodeOfShards = () => fail('ECONNRESET');
    await expect(find(['a'])).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(sentQueries).not.toContain('coordinator find_keys');
    expect(forgottenTenants).toEqual([]);
  });
});
