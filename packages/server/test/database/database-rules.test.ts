import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { APPEND_ONLY_TABLES } from '../harness/append-only.ts';
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

/** Adds records to each log of both workspaces: each ledger has two rows, the second for a blocked decision. */
async function fill(): Promise<void> {
  for (const { key } of tenants) {
    await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'twin', pass_rate: 90 });
    await server.post(paths.traces, key, { trace_id: 'twin', agent_name: 'twin' });
    await server.post(paths.telemetry, key, { trace_id: 'twin', outcome: 'success' });
    await server.post(paths.audit, key, { actor: 'ci', action: 'twin.acted' });
    await server.post(paths.promotionCheck, key, { agent_name: 'twin', min_pass_rate: 100 });
  }
}

const errorCodeOf = (query: Promise<unknown>): Promise<string> =>
  query.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
const actAs = (client: pg.Client, tenantId: string | undefined) =>
  client.query(`SELECT set_config('countersign.tenant_id', $1, false)`, [tenantId ?? '']);

describe('rules that the database enforces itself', () => {
  const changes = (table: string) => [
    `UPDATE countersign.${table} SET tenant_id = tenant_id`,
    `DELETE FROM countersign.${table}`,
    `TRUNCATE countersign.${table} CASCADE`,
  ];

  test('APPEND_ONLY_TABLES lists every table whose changes a trigger rejects; the triggers also fire in replication mode', async () => {
    const triggers = await server.database.sql<{ table: string; trigger: string; mode: string }>(
      `SELECT relname AS table, tgname AS trigger, tgenabled AS mode FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = 'countersign'::regnamespace AND tgfoid IN (SELECT oid FROM pg_proc WHERE starts_with(proname, 'refuse_change'))
        ORDER BY relname COLLATE "C"`,
    );
    expect(triggers).toEqual(APPEND_ONLY_TABLES.map((table) => ({ table, trigger: 'append_only', mode: 'A' })));
  });

  test.each(APPEND_ONLY_TABLES)('%s is append-only for the server, for the owner and in replication mode', async (table) => {
    const before = await server.database.sql(
      `SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM countersign.${table} AS t`,
    );
    for (const change of changes(table)) {
      await actAs(serverClient, tenants[0]!.id);
      await actAs(ownerClient, tenants[0]!.id);
      expect([change, await errorCodeOf(serverClient.query(change))]).toEqual([change, '42501']);
      expect([change, await errorCodeOf(ownerClient.query(change))]).toEqual([change, '23001']);
      expect([change, await errorCodeOf(server.database.sql(`SET LOCAL session_replication_role = replica; ${change}`))]).toEqual(
        [change, '23001'],
      );
    }
    expect(await errorCodeOf(serverClient.query(`ALTER TABLE countersign.${table} DISABLE TRIGGER append_only`))).toBe('42501');
    expect(
      await server.database.sql(`SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM countersign.${table} AS t`),
    ).toEqual(before);
  });

  test.each([
    ['a second successor of one row', 'seq + 1000', 'prev_hash', '23505'],
    ['a second first row', '1', 'NULL', '23505'],
    ['a later row without a predecessor', 'seq + 1000', 'NULL', '23514'],
    ['a first row with a predecessor', '1', 'sha256(row_hash)', '23514'],
    ['a second row with the same number', 'seq', 'sha256(row_hash)', '23505'],
    ['a row with number 0', '0', 'sha256(row_hash)', '23514'],
    ['a hash of another length', 'seq + 1000', `'\\x00'`, '23514'],
  ])('reject in the audit ledger: %s', async (_what, seq, prevHash, expected) => {
    await actAs(serverClient, tenants[0]!.id);
    const insert = `INSERT INTO countersign.audit_entries (tenant_id, seq, id, recorded_at, recorded_by, actor, action, prev_hash, row_hash, document)
      SELECT tenant_id, ${seq}, gen_random_uuid(), recorded_at, recorded_by, actor, action, ${prevHash}, sha256(row_hash), document
        FROM countersign.audit_entries WHERE seq = 2`;
    expect(await errorCodeOf(serverClient.query(insert))).toBe(expected);
  });

  test("the server's role cannot delete records, change recorded values, or create or change tables", async () => {
    await actAs(serverClient, tenants[0]!.id);
    for (const statement of [
      ...['agents', 'traces', 'evaluations', 'telemetry_events', 'tenants', 'ingestion_keys', 'log_heads'].map(
        (table) => `DELETE FROM countersign.${table}`,
      ),
      'UPDATE countersign.evaluations SET pass_rate = 100',
      `UPDATE countersign.telemetry_events SET outcome = 'success'`,
      `UPDATE countersign.agents SET name = 'other'`,
      `UPDATE countersign.ingestion_keys SET tenant_id = tenant_id`,
      `UPDATE countersign.instance SET master_secret_fingerprint = ''`,
      'ALTER TABLE countersign.agents DISABLE ROW LEVEL SECURITY',
      'DROP POLICY of_tenant ON countersign.agents',
      'CREATE TABLE countersign.mine (a integer)',
      `DELETE FROM countersign.migrations`,
    ])
      expect([statement, await errorCodeOf(serverClient.query(statement))]).toEqual([statement, '42501']);
  });

  test('an evaluation cannot refer to an agent of another workspace', async () => {
    await actAs(serverClient, tenants[0]!.id);
    const stranger = randomUUID();
    await server.database.sql(`INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, $2, 'stranger')`, [
      tenants[1]!.id,
      stranger,
    ]);
    const insert = `INSERT INTO countersign.evaluations (tenant_id, id, recorded_at, recorded_by, agent_id, name, status, document) VALUES ($1, gen_random_uuid(), now(), 'x', $2, 'n', 'passing', '{}')`;
    expect(await errorCodeOf(serverClient.query(insert, [tenants[0]!.id, stranger]))).toBe('23503');
  });
});
