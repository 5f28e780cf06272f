import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import type pg from 'pg';
import pino from 'pino';
import { afterAll, expect, inject, test } from 'vitest';
import { runOnNode as asSuperuserOn } from '../../../../scripts/citus/nodes.ts';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { addressOnNode, type NodeAddress } from '../../src/database/citus-node.ts';
import { openNodePools } from '../../src/database/pools.ts';
import { TenantNodes } from '../../src/database/tenant-nodes.ts';
import { sql, type Transaction } from '../../src/database/transaction.ts';
import { setRiskLevel } from '../../src/workspace/agent-risk.ts';
import { environmentOf } from '../fixtures/run-command.ts';
import { run } from '../fixtures/server-process.ts';
import { paths, testServer } from '../harness/test-server.ts';

const lines: { level: number; msg: string }[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
const server = await testServer({ log });
const reports: string[] = [];
const opened: TenantNodes[] = [];
afterAll(() => Promise.all(opened.map((nodes) => nodes.close())));

/** Opens the nodes as a server does. `addressOf` can replace the addresses. */
function openNodes(addressOf: (node: NodeAddress) => NodeAddress = (node) => node): TenantNodes {
  const nodes = new TenantNodes({
    pool: server.open.pool,
    openNodePools: (node) => openNodePools(addressOnNode(server.open.address, addressOf(node)), server.open, 2),
    reports: { unreachable: (node) => void reports.push(`lost ${node}`), reachable: (node) => void reports.push(`back ${node}`) },
  });
  opened.push(nodes);
  return nodes;
}

interface Placement extends pg.QueryResultRow {
  shardid: string;
  nodename: string;
  nodeport: number;
}

/** Returns the shard with the traces of a workspace: `current` with the node that has the shard, `other` with the other worker. */
const placementsOf = async (tenantId: string): Promise<{ current: Placement; other: Placement }> => {
  const [current, other] = await server.database.sql<Placement>(
    `SELECT p.shardid::text, n.nodename, n.nodeport FROM pg_dist_node AS n CROSS JOIN pg_dist_placement AS p
      WHERE p.shardid = get_shard_id_for_distribution_column('countersign.traces', $1::uuid) AND n.shouldhaveshards
      ORDER BY p.groupid <> n.groupid`,
    [tenantId],
  );
  return { current: current!, other: other! };
};

/** Moves the shards of a workspace to the other worker. */
async function move(tenantId: string): Promise<void> {
  const { current, other } = await placementsOf(tenantId);
  await server.database.sql(
    `SELECT citus_move_shard_placement($1::bigint, $2, $3, $4, $5, shard_transfer_mode => 'block_writes')`,
    [current.shardid, current.nodename, current.nodeport, other.nodename, other.nodeport],
  );
}

/** Runs work as the superuser on the node of a placement. */
const onPlacement = <T>({ nodename, nodeport }: Placement, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  asSuperuserOn(
    { ...inject('cluster').citus!.coordinator, host: nodename, port: nodeport },
    server.database.server.database,
    work,
  );

/** How many of the server's connections to a node have COMMIT as their last statement. */
const countDirectConnections = (placement: Placement): Promise<number> =>
  onPlacement(placement, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::integer FROM pg_stat_activity
        WHERE application_name = 'countersign-node' AND datname = current_database() AND query = 'COMMIT'`,
    );
    return rows[0]!.count;
  });

const postTrace = async (key: string, traceId: string): Promise<number> =>
  (await server.post(paths.traces, key, { trace_id: traceId, agent_name: 'direct', outcome: 'success' })).status;

/** Creates a workspace and waits until the server writes directly to the workspace's node. Returns the ID, the name and a key. */
async function createDirectWorkspace(): Promise<{ tenant: string; name: string; key: string }> {
  const name = `direct-${randomUUID()}`;
  const tenant = await server.workspace(name);
  const key = await server.key(tenant);
  const { current } = await placementsOf(tenant);
  let number = 0;
  const before = await countDirectConnections(current);
  await until('the server writes directly', async () => {
    number += 1;
    await Promise.all(['a', 'b', 'c'].map(async (suffix) => expect(await postTrace(key, `first-${number}-${suffix}`)).toBe(200)));
    return number > 3 && (await countDirectConnections(current)) >= Math.max(before, 1);
  });
  return { tenant, name, key };
}

const READ_PORT = sql<{ port: number }>('where_am_i', 'SELECT inet_server_port() AS port');
const portOf = async (tx: Transaction): Promise<number> => (await tx.run(READ_PORT, []))[0]!.port;

/** Waits until transactions of a tenant run on the tenant's node. */
async function untilDirect(nodes: TenantNodes, tenant: string): Promise<void> {
  const { current } = await placementsOf(tenant);
  await until('transactions run on the node', async () => (await nodes.inTransaction(tenant, portOf)) === current.nodeport);
}

test('records of five endpoints are accepted and their logs are valid, whichever node runs their batches', async () => {
  const { tenant, key } = await createDirectWorkspace();
  const evaluation = { name: 'nightly', agent_name: 'direct', status: 'passing', pass_rate: 100 };
  expect((await server.post(paths.evaluations, key, evaluation)).status).toBe(200);
  for (const [path, body] of [
    [paths.audit, { actor: 'ci', action: 'direct.acted' }],
    [paths.telemetry, { trace_id: 'event', outcome: 'success', agent_name: 'direct' }],
    [paths.promotionCheck, { agent_name: 'direct' }],
  ] as const)
    expect([path, (await server.post(path, key, body)).status]).toEqual([path, 200]);
  await setRiskLevel(server.open.pool, tenant, { agent: 'direct', level: 'high' }, 'operator');
  // The request for an approval takes a number from a sequence of the coordinator.
  const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'direct' });
  expect(body).toMatchObject({ allowed: false, reason: 'approval_required' });
  expect(
    await server.database.sql(
      `SELECT a.requested_seq - e.seq < 100 AS follows FROM countersign.approvals AS a
         JOIN countersign.evaluations AS e ON e.tenant_id = $1 AND e.id = a.evaluation_id
        WHERE a.tenant_id = $1 AND a.requested_seq > e.seq`,
      [tenant],
    ),
  ).toEqual([{ follows: true }]);
  await server.verifyLogs();
  await server.compareTables();
  expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
});

test('traces that arrive after a move of their workspace are stored once', async () => {
  const { tenant, key } = await createDirectWorkspace();
  const readTraces = () => server.database.sql('SELECT 1 FROM countersign.traces WHERE tenant_id = $1', [tenant]);
  const before = (await readTraces()).length;
  await move(tenant);
  const statuses = await Promise.all(['m1', 'm2', 'm3', 'm4'].map((traceId) => postTrace(key, traceId)));
  expect(statuses).toEqual([200, 200, 200, 200]);
  expect((await readTraces()).length).toBe(before + 4);
});

/** The last statement of each connection that the server uses for lookups on a node. */
const lookupsOn = (placement: Placement): Promise<string[]> =>
  onPlacement(placement, async (client) => {
    const { rows } = await client.query<{ query: string }>(
      `SELECT query FROM pg_stat_activity WHERE application_name = 'countersign-node-lookup' AND datname = current_database()`,
    );
    return rows.map(({ query }) => query);
  });

test('keys are looked up on the node of their workspace, and a key that is revoked after a move is rejected at once', async () => {
  const { tenant, name, key } = await createDirectWorkspace();
  const { current } = await placementsOf(tenant);
  expect(await lookupsOn(current)).toContainEqual(expect.stringMatching(/FROM countersign\.ingestion_keys_\d+/));
  const { rows: shards } = await onPlacement(current, (client) =>
    client.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class AS c WHERE relkind = 'r' AND relname ~ '^log_heads_\\d+$'`,
    ),
  );
  await onPlacement(current, async (client) => {
    // Keeps Citus from dropping the old shard, so that the node still has rows of the key and of the key audit trail.
    await client.query('BEGIN');
    for (const { name } of shards) await client.query(`SELECT FROM ${name} LIMIT 1`);
    await move(tenant);
    // Another process revokes the key, because this process would remember the event.
    await run(['keys', 'revoke', '--workspace', name, parseIngestionKey(key)!.prefix], environmentOf(server));
    expect(await postTrace(key, 'revoked')).toBe(401);
    await client.query('ROLLBACK');
  });
});

const INSERT_AGENT = sql('insert_test_agent', 'INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, $2, $3)');

test('a move waits for a running transaction and moves its rows; the next transaction fails, later ones use the coordinator', async () => {
  const tenant = await server.workspace();
  const nodes = openNodes();
  await untilDirect(nodes, tenant);
  let moving: Promise<void> | undefined;
  let isMoved = false;
  await nodes.inTransaction(tenant, async (tx) => {
    await tx.run(INSERT_AGENT, [tenant, randomUUID(), 'moved along']);
    moving = move(tenant).then(() => {
      isMoved = true;
    });
    await sleep(1_000);
    expect(isMoved).toBe(false);
  });
  await moving;
  expect(await server.database.sql('SELECT name FROM countersign.agents WHERE tenant_id = $1', [tenant])).toEqual([
    { name: 'moved along' },
  ]);
  // `nodes` still uses the old node, which refuses the work. The next attempt runs on the coordinator.
  await expect(nodes.inTransaction(tenant, portOf)).rejects.toMatchObject({ name: 'CoordinatorNeededError', code: '40001' });
  expect(await nodes.inTransaction(tenant, portOf)).toBe(inject('cluster').citus!.coordinator.port);
});

test('transactions run on the coordinator while a node cannot be reached, and the server reports this once', async () => {
  const tenant = await server.workspace();
  const nodes = openNodes(({ host }) => ({ host, port: 1 }));
  const { current } = await placementsOf(tenant);
  const coordinator = inject('cluster').citus!.coordinator.port;
  await until('the node is reported', async () => {
    expect(await nodes.inTransaction(tenant, portOf)).toBe(coordinator);
    return reports.length > 0;
  });
  for (let number = 0; number < 5; number += 1) expect(await nodes.inTransaction(tenant, portOf)).toBe(coordinator);
  expect(reports).toEqual([`lost ${current.nodename}:${current.nodeport}`]);
});

/** Creates two workspaces whose rows are in the same shards. */
async function createWorkspacesInSameShards(): Promise<[string, string]> {
  const byShard = new Map<string, string>();
  for (;;) {
    const tenant = await server.workspace();
    await postTrace(await server.key(tenant), 'twin');
    const { shardid } = (await placementsOf(tenant)).current;
    const other = byShard.get(shardid);
    if (other !== undefined) return [tenant, other];
    byShard.set(shardid, tenant);
  }
}

test('row-level security applies on the shards, and append-only tables reject changes', async () => {
  const [tenant, otherTenant] = await createWorkspacesInSameShards();
  const nodes = openNodes();
  await untilDirect(nodes, tenant);
  const run = (text: string, values: unknown[] = []) =>
    nodes.inTransaction(tenant, (tx) => tx.run(sql<{ tenant_id: string }>('', text), values));
  const tables = await server.database.sql<{ name: string }>(
    `SELECT relname AS name FROM pg_dist_partition JOIN pg_class ON oid = logicalrelid WHERE partmethod = 'h'`,
  );
  for (const { name } of tables) {
    const source = name === 'log_heads' ? `${name} WHERE log <> 'keys'` : name;
    const visible = await run(`SELECT DISTINCT tenant_id FROM countersign.${source}`);
    expect([name, visible.filter(({ tenant_id }) => tenant_id !== tenant)]).toEqual([name, []]);
  }
  expect(await run('SELECT DISTINCT tenant_id FROM countersign.traces')).toEqual([{ tenant_id: tenant }]);
  await expect(
    nodes.inTransaction(tenant, (tx) => tx.run(INSERT_AGENT, [otherTenant, randomUUID(), 'smuggled'])),
  ).rejects.toMatchObject({
    code: '42501',
  });
  const change = await run('UPDATE countersign.traces SET total_tokens = 0 WHERE tenant_id = $1 RETURNING tenant_id', [
    otherTenant,
  ]);
  expect(change).toEqual([]);
  for (const text of ['UPDATE countersign.audit_entries SET actor = actor', 'DELETE FROM countersign.trace_events'])
    await expect(run(text)).rejects.toMatchObject({ code: '42501' });
});
