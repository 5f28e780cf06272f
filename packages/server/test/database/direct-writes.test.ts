import pino from 'pino';
import { afterAll, expect, inject, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { openTenantNodes } from '../../src/app/open-tenant-nodes.ts';
import { addressOnNode, CitusNode, type NodeAddress, type NodePools } from '../../src/database/citus-node.ts';
import { isWorthRetrying } from '../../src/database/pool.ts';
import { openNodePools } from '../../src/database/pools.ts';
import { CoordinatorNeededError, needsCoordinator, ShardGroup } from '../../src/database/shard-group.ts';
import { inShardTransaction, sql } from '../../src/database/transaction.ts';
import { testServer } from '../harness/test-server.ts';

const server = await testServer();
const group = new ShardGroup({
  shards: new Map([
    ['log_heads', '102001'],
    ['traces', '102002'],
    ['trace_events', '102003'],
  ]),
  views: new Map([['steps', 'SELECT t.id FROM countersign.traces t']]),
  references: new Map([['tenants', '102009']]),
});
const pools = openNodePools(server.database.server, server.open, 2);
const endPools = ({ write, lookup }: NodePools) => Promise.all([write.end(), lookup.end()]);
afterAll(() => endPools(pools));

test('a rewritten statement has shards instead of distributed tables and queries instead of views; its other text is unchanged', () => {
  const text = `INSERT INTO countersign.traces (id) SELECT countersign.instant_of(e.id) FROM countersign.trace_events AS e
    JOIN countersign.tenants AS t ON t.id = e.tenant_id WHERE current_setting('countersign.tenant_id') <> 'traces'`;
  expect(group.rewriteForShards(sql('copy', text))).toEqual({
    name: 'copy@102001',
    text: text
      .replace('countersign.traces', 'countersign.traces_102002')
      .replace('countersign.trace_events', 'countersign.trace_events_102003'),
  });
  expect(group.rewriteForShards(sql('view', 'SELECT id FROM countersign.steps AS s')).text).toBe(
    'SELECT id FROM (SELECT t.id FROM countersign.traces_102002 t) AS s',
  );
  const begin = sql('BEGIN', 'BEGIN');
  expect(group.rewriteForShards(begin)).toBe(begin);
  expect(group.rewriteForShards(sql('', 'SELECT 1 FROM countersign.traces')).name).toBe('');
});

test('`rewriteForReading` replaces a reference table with its copy on the node, and `rewriteForShards` does not', () => {
  const statement = sql('read', 'SELECT 1 FROM countersign.tenants JOIN countersign.traces ON true');
  expect(group.rewriteForShards(statement).text).toBe('SELECT 1 FROM countersign.tenants JOIN countersign.traces_102002 ON true');
  expect(group.rewriteForReading(statement)).toEqual({
    name: 'read@102001',
    text: 'SELECT 1 FROM countersign.tenants_102009 JOIN countersign.traces_102002 ON true',
  });
});

test('a statement that takes numbers from a sequence is not sent, and its transaction is rolled back and may be repeated', async () => {
  const tenantId = await server.workspace();
  const rewrite = <Row>(statement: { name: string; text: string; row?: Row }) => {
    group.rewriteForShards(statement);
    return statement;
  };
  const error = await inShardTransaction(pools.write, { tenantId, rewrite }, async (tx) => {
    tx.send(sql('set_seq', 'UPDATE countersign.log_heads SET seq = 7 WHERE tenant_id = $1'), [tenantId]);
    tx.send(sql('number', `SELECT nextval('countersign.record_order')`), []);
    await tx.commit();
  }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CoordinatorNeededError);
  expect(isWorthRetrying(error)).toBe(true);
  expect(await server.database.sql('SELECT 1 FROM countersign.log_heads WHERE tenant_id = $1 AND seq = 7', [tenantId])).toEqual(
    [],
  );
});

test.each([
  ['22012', true, 'the shard is not on this node'],
  ['40001', true, 'the shard was split'],
  ['08006', true, 'the other node is unreachable'],
  ['55P03', false, 'the lock was not granted in time'],
  ['57014', false, 'the statement took too long'],
  ['57P01', false, 'the node shuts down'],
  ['ECONNRESET', false, 'the connection is lost'],
  ['EPIPE', false, 'the connection is lost; the code is as long as an SQLSTATE'],
])('if `ShardGroup.keepOnNode` fails with %s, `needsCoordinator` is %s (%s)', (code, expected) => {
  expect(needsCoordinator(Object.assign(new Error('failed'), { code }))).toBe(expected);
});

test.each([
  ['postgres://me:p%40ss@db:5433/ledger?sslmode=require', 'postgres://me:p%40ss@worker-1:5432/ledger?sslmode=require'],
  ['postgres://me@db/ledger', 'postgres://me@worker-1:5432/ledger'],
  ['postgres://me@[::1]:5433/ledger', 'postgres://me@worker-1:5432/ledger'],
  ['postgres:///ledger?host=/run/postgresql&user=me', 'postgres://worker-1:5432/ledger?user=me'],
])(
  'addressOnNode replaces the host and port of %s and keeps its user, password, database and other options',
  (connectionString, expected) => {
    expect(addressOnNode({ connectionString }, { host: 'worker-1', port: 5432 })).toEqual({ connectionString: expected });
  },
);

test('the address of a node can be an IPv6 address', () => {
  const address = { connectionString: 'postgres://me@db/ledger' };
  expect(addressOnNode(address, { host: 'fd00::7', port: 5433 })).toEqual({
    connectionString: 'postgres://me@[fd00::7]:5433/ledger',
  });
  const settings = { host: 'db', port: 1, user: 'me', database: 'ledger' };
  expect(addressOnNode(settings, { host: 'fd00::7', port: 5433 })).toEqual({ ...settings, host: 'fd00::7', port: 5433 });
});

test('a node is used only after a statement on it has succeeded, and a node that cannot be reached is reported once', async () => {
  const reports: string[] = [];
  const reporter = { unreachable: (name: string) => void reports.push(name), reachable: () => void reports.push('reachable') };
  const address: NodeAddress = server.database.server;
  const goodNode = new CitusNode(address, pools, reporter);
  expect(goodNode.checkReachable()).toBe(false);
  await until('the node is reached', () => goodNode.checkReachable());
  expect(reports).toEqual([]);
  const unreachablePools = openNodePools({ ...server.database.server, host: '127.0.0.1', port: 1 }, server.open, 2);
  const badNode = new CitusNode({ host: 'worker-1', port: 1 }, unreachablePools, reporter);
  await until('the failure is reported', () => !badNode.checkReachable() && reports.length > 0);
  badNode.noteFailure(new Error('again'));
  expect([badNode.checkReachable(), reports]).toEqual([false, ['worker-1:1']]);
  await endPools(unreachablePools);
});

test.skipIf(inject('cluster').citus !== undefined)(
  'the server does not write directly to nodes if the database has no Citus',
  async () => {
    const config = { directWrites: true, databaseConnections: 2 };
    expect(await openTenantNodes(config, server.open, pino({ level: 'silent' }))).toBeUndefined();
  },
);
