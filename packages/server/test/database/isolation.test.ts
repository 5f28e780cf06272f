import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
const tenants: { id: string; key: string }[] = [];
const clients: pg.Client[] = [];
let serverClient: pg.Client;
let ownerClient: pg.Client;

beforeAll(async () => {
  server = await testServer();
  for (let number = 0; number < 2; number += 1) {
    const id = await server.workspace();
    tenants.push({ id, key: await server.key(id) });
  }
  for (const settings of [server.database.server, server.database.owner]) {
    const client = new pg.Client(settings);
    await client.connect();
    clients.push(client);
  }
  [serverClient, ownerClient] = clients as [pg.Client, pg.Client];
  await fill();
});
afterAll(() => Promise.all(clients.map((client) => client.end())));

/** Adds an evaluation, a trace, an event and an audit entry to both workspaces, with the same names and IDs. */
async function fill(): Promise<void> {
  const agent = { agent_id: randomUUID(), agent_name: 'twin' };
  for (const [number, { key }] of tenants.entries()) {
    const post = (path: string, body: unknown) => server.post(path, key, body, { 'idempotency-key': 'same' });
    await post(paths.evaluations, { name: 'nightly', ...agent, pass_rate: number === 0 ? 99 : 10 });
    await post(paths.traces, {
      trace_id: 'twin',
      ...agent,
      total_tokens: 100 + number,
      spans: [{ span_id: 's', kind: 'llm', name: 'n' }],
    });
    await post(paths.telemetry, { trace_id: 'twin', outcome: 'success', ...agent });
    await post(paths.audit, { actor: 'ci', action: 'twin.acted' });
  }
}

const errorCodeOf = (query: Promise<unknown>): Promise<string> =>
  query.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
const actAs = (client: pg.Client, tenantId: string | undefined) =>
  client.query(`SELECT set_config('countersign.tenant_id', $1, false)`, [tenantId ?? '']);
const tablesOfTenants = async () =>
  (
    await server.database.sql<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'countersign'::regnamespace AND relkind = 'r' AND relrowsecurity ORDER BY 1`,
    )
  ).map(({ name }) => name);

describe('two workspaces whose records have the same names and IDs', () => {
  test('share no trace, total, agent, evaluation, ledger or stored response', async () => {
    const [first, second] = tenants as [(typeof tenants)[0], (typeof tenants)[0]];
    for (const [number, { id, key }] of tenants.entries()) {
      expect((await server.post(paths.traces, key, { trace_id: 'twin' })).body.tokens).toBe(100 + number);
      for (const table of ['agents', 'traces', 'spans', 'telemetry_events', 'evaluations'])
        expect(
          await server.database.sql(`SELECT count(*)::int AS n FROM countersign.${table} WHERE tenant_id = $1`, [id]),
        ).toEqual([{ n: 1 }]);
      expect((await server.post(paths.audit, key, { actor: 'ci', action: 'x.y' })).headers.get('countersign-ledger-seq')).toBe(
        '2',
      );
    }
    expect((await server.post(paths.promotionCheck, first.key, { agent_name: 'twin' })).body).toMatchObject({ allowed: true });
    expect((await server.post(paths.promotionCheck, second.key, { agent_name: 'twin' })).body).toMatchObject({
      allowed: false,
      actual_threshold: 10,
    });
    const hashes = await server.database.sql<{ n: number }>(
      'SELECT count(DISTINCT row_hash)::int AS n FROM countersign.audit_entries',
    );
    expect(hashes[0]!.n).toBe((await server.database.sql('SELECT 1 FROM countersign.audit_entries')).length);
  });

  test('sign decisions with different keys', async () => {
    const ids = await Promise.all(
      tenants.map(async ({ key }) => (await server.post(paths.promotionCheck, key, { agent_name: 'x' })).body.key_id),
    );
    expect(new Set(ids).size).toBe(2);
  });
});

describe('row-level security', () => {
  test("the server's role is not a superuser, does not bypass row-level security and owns nothing", async () => {
    const roles = await server.database.sql(
      `SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, (SELECT count(*)::int FROM pg_class WHERE relowner = r.oid) AS owns FROM pg_roles AS r WHERE rolname = $1`,
      [server.database.server.user],
    );
    expect(roles).toEqual([{ rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false, owns: 0 }]);
  });

  test.each([
    ["the server's role", () => serverClient],
    ['the owner', () => ownerClient],
  ])('%s can read only rows of the tenant that is set, and without a tenant at most rows about keys', async (_who, client) => {
    const tables = await tablesOfTenants();
    expect(tables.length).toBeGreaterThan(14);
    for (const table of tables) {
      await actAs(client(), undefined);
      // Before the workspace is known, a request looks up its key and the size of the workspace's key audit trail.
      const source = table === 'log_heads' ? `log_heads WHERE log <> 'keys'` : table;
      if (table !== 'ingestion_keys')
        expect([table, (await client().query(`SELECT 1 FROM countersign.${source} LIMIT 1`)).rowCount]).toEqual([table, 0]);
      await actAs(client(), tenants[1]!.id);
      const { rows } = await client().query(`SELECT DISTINCT tenant_id FROM countersign.${source}`);
      expect([table, rows.filter(({ tenant_id }) => tenant_id !== tenants[1]!.id)]).toEqual([table, []]);
    }
    await actAs(client(), tenants[1]!.id);
    expect((await client().query('SELECT 1 FROM countersign.audit_entries')).rowCount).toBeGreaterThan(0);
  });

  test("the server's role can neither write nor change a row of another tenant", async () => {
    await actAs(serverClient, tenants[0]!.id);
    const insert = `INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, $2, 'smuggled')`;
    expect(await errorCodeOf(serverClient.query(insert, [tenants[1]!.id, randomUUID()]))).toBe('42501');
    const { rowCount } = await serverClient.query(`UPDATE countersign.traces SET total_tokens = 0 WHERE tenant_id = $1`, [
      tenants[1]!.id,
    ]);
    expect(rowCount).toBe(0);
    expect(await errorCodeOf(serverClient.query(`UPDATE countersign.traces SET tenant_id = $1`, [tenants[1]!.id]))).toBe('42501');
  });
});
