import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { paths, testServer } from '../harness/test-server.ts';

const server = await testServer();
const tenants: string[] = [];
const clients: Record<string, pg.Client> = {};

beforeAll(async () => {
  for (let number = 0; number < 4; number += 1) {
    const tenant = await server.workspace();
    const key = await server.key(tenant);
    await server.post(paths.traces, key, { trace_id: 'twin', agent_name: 'twin' });
    await server.post(paths.audit, key, { actor: 'ci', action: 'twin.acted' });
    tenants.push(tenant);
  }
  for (const role of ['server', 'owner'] as const) {
    const client = new pg.Client(server.database[role]);
    await client.connect();
    await client.query(`SET citus.propagate_set_commands = 'local'`);
    clients[role] = client;
  }
});
afterAll(() => Promise.all(Object.values(clients).map((client) => client.end())));

/** Runs a statement as a role, with this tenant or without a tenant, and rolls the statement back. */
async function runAs(role: string, tenant: string | undefined, text: string, values: unknown[] = []): Promise<pg.QueryResult> {
  const client = clients[role]!;
  await client.query('BEGIN');
  try {
    if (tenant !== undefined) await client.query(`SET LOCAL countersign.tenant_id = '${tenant}'`);
    return await client.query(text, values);
  } finally {
    await client.query('ROLLBACK');
  }
}

const listDistributedTables = async (): Promise<string[]> =>
  (
    await server.database.sql<{ name: string }>(
      `SELECT c.relname AS name FROM pg_dist_partition AS p JOIN pg_class AS c ON c.oid = p.logicalrelid
        WHERE p.partmethod = 'h' AND c.relnamespace = 'countersign'::regnamespace`,
    )
  ).map(({ name }) => name);

test('the tables of tenants, except three, are distributed with row-level security on each shard', async () => {
  const tables = await server.database.sql<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns AS c
      WHERE table_schema = 'countersign' AND column_name = 'tenant_id'
        AND table_name NOT IN ('memberships', 'ingestion_keys', 'one_time_links', 'spans') ORDER BY 1`,
  );
  // Of the four names in the query, `spans` is a view. The others are the three exceptions.
  expect((await listDistributedTables()).sort()).toEqual(tables.map(({ name }) => name));
  const results = await server.database.sql<{ success: boolean; result: string }>(
    `SELECT success, result FROM run_command_on_workers($$
       SELECT count(*) FROM pg_class WHERE relnamespace = 'countersign'::regnamespace AND relkind = 'r' AND relname ~ '_[0-9]{6,}$'
          AND relname !~ '^(tenants|people)_' AND NOT (relrowsecurity AND relforcerowsecurity)$$)`,
  );
  expect(results.map(({ result }) => result)).toEqual(['0', '0']);
});

test.each(['server', 'owner'])(
  'the role of the %s sees only rows of the current tenant, and no rows if no tenant is set',
  async (role) => {
    for (const table of await listDistributedTables()) {
      // The size of the key audit trail is read before the tenant is known.
      const source = table === 'log_heads' ? `${table} WHERE log <> 'keys'` : table;
      const ownResult = await runAs(role, tenants[1], `SELECT DISTINCT tenant_id FROM countersign.${source}`);
      expect([table, ownResult.rows.filter(({ tenant_id }) => tenant_id !== tenants[1])]).toEqual([table, []]);
      const resultWithoutTenant = await runAs(role, undefined, `SELECT 1 FROM countersign.${source} LIMIT 1`);
      expect([table, resultWithoutTenant.rowCount]).toEqual([table, 0]);
    }
    expect((await runAs(role, tenants[1], 'SELECT 1 FROM countersign.audit_entries')).rowCount).toBeGreaterThan(0);
  },
);

test('the role of the server cannot write rows of another tenant', async () => {
  const insert = `INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, $2, 'smuggled')`;
  for (const other of tenants.slice(1))
    await expect(runAs('server', tenants[0], insert, [other, randomUUID()])).rejects.toMatchObject({ code: '42501' });
  const update = `UPDATE countersign.traces SET total_tokens = 0 WHERE tenant_id = $1`;
  expect((await runAs('server', tenants[0], update, [tenants[1]])).rowCount).toBe(0);
  expect((await runAs('server', tenants[0], update, [tenants[0]])).rowCount).toBe(1);
});

test('the append-only table audit_entries rejects changes by both roles', async () => {
  for (const role of ['server', 'owner'])
    for (const change of ['UPDATE countersign.audit_entries SET actor = actor', 'DELETE FROM countersign.audit_entries'])
      await expect(runAs(role, tenants[0], change)).rejects.toMatchObject({ code: role === 'server' ? '42501' : '23001' });
});
