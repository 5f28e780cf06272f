import { hash } from 'node:crypto';
import { formatIngestionKey } from '@countersign/core/domain/ingestion-key';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { readSealedHead } from '../../src/ledger/sealed-heads.ts';
import { revokeKey, rotateKey } from '../../src/workspace/ingestion-keys.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let otherServer: TestServer;
let workspace = '';
let tenantId = '';
let key = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  otherServer = await testServer({ checkpointSeconds: undefined, database: server.database });
  for (const table of ['ingestion_keys', 'key_events'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});
beforeEach(async () => {
  workspace = `w-${Math.random()}`;
  tenantId = await server.workspace(workspace);
  key = await server.key(tenantId, ['audit']);
});

const SECRET = 'A'.repeat(43);
const prefixOf = (keyText: string) => keyText.slice('aa_live_'.length, 'aa_live_'.length + 12);
const hashOf = (secret: string) => hash('sha256', secret, 'buffer');
const use = (keyText: string, target = server, path: keyof typeof paths = 'audit') =>
  target.post(
    paths[path],
    keyText,
    path === 'audit' ? { actor: 'ci', action: 'deployed' } : { name: 'nightly', agent_name: 'bot' },
  );
const statusesOnBothServers = async (keyText: string, path: keyof typeof paths = 'audit') => [
  (await use(keyText, server, path)).status,
  (await use(keyText, otherServer, path)).status,
];
const sql = (statement: string, values: unknown[] = []) => server.database.sql(statement, values);
const verify = async () => {
  const { status, out } = await runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', workspace, '--log', 'keys');
  return [status, out];
};
const insertUnrecordedKey = (prefix: string) =>
  sql(
    `INSERT INTO countersign.ingestion_keys (tenant_id, id, kind, prefix, name, scopes, secret_sha256) VALUES ($1, gen_random_uuid(), 'live', $2, 'ci', '{audit}', $3)`,
    [tenantId, prefix, hashOf(SECRET)],
  );

describe('the server accepts a key only as the key audit trail records it', () => {
  test('rejects an inserted key, which `ledger verify` names and /readyz reports', async () => {
    await insertUnrecordedKey('abcdefabcdef');
    expect(await statusesOnBothServers(formatIngestionKey({ kind: 'live', prefix: 'abcdefabcdef', secret: SECRET }))).toEqual([
      401, 401,
    ]);
    expect(await verify()).toEqual([
      1,
      expect.stringMatching(/the row abcdefabcdef differs from the trail: the trail has no such key/),
    ]);
    const { warnings } = (await (await fetch(`${server.url}/readyz`)).json()) as { warnings: string[] };
    expect(warnings.join(' ')).toContain('ingestion_keys');
    await sql(`DELETE FROM countersign.ingestion_keys WHERE prefix = 'abcdefabcdef'`);
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid/)]);
  });

  test('rejects a replaced secret and accepts the original again after it is restored', async () => {
    const [row] = await server.database.sql<{ secret_sha256: Buffer }>(
      'SELECT secret_sha256 FROM countersign.ingestion_keys WHERE prefix = $1',
      [prefixOf(key)],
    );
    await sql('UPDATE countersign.ingestion_keys SET secret_sha256 = $2 WHERE prefix = $1', [prefixOf(key), hashOf(SECRET)]);
    expect(await statusesOnBothServers(formatIngestionKey({ kind: 'live', prefix: prefixOf(key), secret: SECRET }))).toEqual([
      401, 401,
    ]);
    expect(await verify()).toEqual([1, expect.stringContaining('the hash of its secret is different')]);
    await sql('UPDATE countersign.ingestion_keys SET secret_sha256 = $2 WHERE prefix = $1', [prefixOf(key), row!.secret_sha256]);
    expect(await statusesOnBothServers(key)).toEqual([200, 200]);
  });

  test.each([
    ['scopes', `scopes = '{evaluations}'`, /its scopes are evaluations, the trail says audit/],
    ['expiry', `expires_at = now() - interval '1 hour'`, /it expires at .*, the trail says null/],
  ])('ignores a change of the %s in the row, and `ledger verify` reports it', async (_, set, finding) => {
    await sql(`UPDATE countersign.ingestion_keys SET ${set} WHERE prefix = $1`, [prefixOf(key)]);
    expect(await statusesOnBothServers(key)).toEqual([200, 200]);
    expect(await statusesOnBothServers(key, 'evaluations')).toEqual([401, 401]);
    expect(await verify()).toEqual([1, expect.stringMatching(finding)]);
  });

  test('rejects a revoked key whose row was replaced by an older row, and refuses to rotate the key', async () => {
    await sql('CREATE TABLE older AS SELECT * FROM countersign.ingestion_keys WHERE prefix = $1', [prefixOf(key)]);
    expect(await statusesOnBothServers(key)).toEqual([200, 200]);
    await revokeKey(server.open.pool, tenantId, prefixOf(key), 'operator');
    expect(await statusesOnBothServers(key)).toEqual([401, 401]);
    await sql('DELETE FROM countersign.ingestion_keys WHERE prefix = $1', [prefixOf(key)]);
    await sql('INSERT INTO countersign.ingestion_keys SELECT * FROM older');
    await sql('DROP TABLE older');
    expect(await statusesOnBothServers(key)).toEqual([401, 401]);
    await expect(rotateKey(server.open.pool, tenantId, prefixOf(key), 'operator')).rejects.toThrow(/was revoked/);
    expect(await verify()).toEqual([1, expect.stringContaining('the trail says that it is revoked')]);
  });

  test.each([
    ['the size in the head is reduced', `UPDATE countersign.log_heads SET seq = seq - 1`],
    ['the head is deleted', 'DELETE FROM countersign.log_heads'],
  ])('rejects a key that another server has revoked, also while %s', async (_, change) => {
    const headCondition = `WHERE log = 'keys' AND tenant_id = '${tenantId}'`;
    expect(await statusesOnBothServers(key)).toEqual([200, 200]);
    await revokeKey(otherServer.open.pool, tenantId, prefixOf(key), 'operator');
    await sql(`CREATE TABLE public.genuine AS SELECT * FROM countersign.log_heads ${headCondition}`);
    await sql(`${change} ${headCondition}`);
    expect([await use(key), await use(key, otherServer)]).toMatchObject(
      Array(2).fill({ status: 500, body: { error: 'log_rewritten' } }),
    );
    await sql(`DELETE FROM countersign.log_heads ${headCondition}`);
    await sql('INSERT INTO countersign.log_heads SELECT * FROM public.genuine');
    await sql('DROP TABLE public.genuine');
    expect(await statusesOnBothServers(key)).toEqual([401, 401]);
  });

  test('rejects a key that another server has revoked, while the stored head is older than one that the server has seen', async () => {
    const headCondition = `WHERE log = 'keys' AND tenant_id = '${tenantId}'`;
    expect((await use(key)).status).toBe(200);
    await sql(`CREATE TABLE public.older_head AS SELECT * FROM countersign.log_heads ${headCondition}`);
    await revokeKey(otherServer.open.pool, tenantId, prefixOf(key), 'operator');
    await inTenantTransaction(server.open.pool, tenantId, (tx) => readSealedHead(tx, 'keys'));
    await sql(`DELETE FROM countersign.log_heads ${headCondition}`);
    await sql('INSERT INTO countersign.log_heads SELECT * FROM public.older_head');
    await sql('DROP TABLE public.older_head');
    for (const target of [server, otherServer])
      expect(await use(key, target)).toMatchObject({ status: 500, body: { error: 'log_rewritten' } });
  });

  test('revokes a key whose row was deleted, so that the key is rejected after the row is restored', async () => {
    await sql(`CREATE TABLE public.taken AS SELECT * FROM countersign.ingestion_keys WHERE prefix = '${prefixOf(key)}'`);
    await sql('DELETE FROM countersign.ingestion_keys WHERE prefix = $1', [prefixOf(key)]);
    await expect(rotateKey(server.open.pool, tenantId, prefixOf(key), 'operator')).rejects.toThrow('has no key with the prefix');
    await revokeKey(server.open.pool, tenantId, prefixOf(key), 'operator');
    await sql('INSERT INTO countersign.ingestion_keys SELECT * FROM public.taken');
    expect(await statusesOnBothServers(key)).toEqual([401, 401]);
  });

  test('revokes a key whose row was deleted while triggers and foreign keys were off', async () => {
    const ownServer = await testServer({ checkpointSeconds: undefined });
    const tenant = await ownServer.workspace();
    const deletedKey = await ownServer.key(tenant, ['audit']);
    await ownServer.database.sql(
      `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM countersign.ingestion_keys WHERE prefix = '${prefixOf(deletedKey)}'; COMMIT`,
    );
    await revokeKey(ownServer.open.pool, tenant, prefixOf(deletedKey), 'operator');
    await expect(revokeKey(ownServer.open.pool, tenant, prefixOf(deletedKey), 'operator')).rejects.toThrow('was revoked');
  });

  test('rejects the old and the new secret of a rotated key whose row was changed to the old secret', async () => {
    const [row] = await server.database.sql<{ secret_sha256: Buffer }>(
      'SELECT secret_sha256 FROM countersign.ingestion_keys WHERE prefix = $1',
      [prefixOf(key)],
    );
    const rotated = await rotateKey(server.open.pool, tenantId, prefixOf(key), 'operator');
    expect([await statusesOnBothServers(rotated), await statusesOnBothServers(key)]).toEqual([
      [200, 200],
      [401, 401],
    ]);
    await sql('UPDATE countersign.ingestion_keys SET secret_sha256 = $2 WHERE prefix = $1', [prefixOf(key), row!.secret_sha256]);
    expect([await statusesOnBothServers(rotated), await statusesOnBothServers(key)]).toEqual([
      [401, 401],
      [401, 401],
    ]);
  });

  test('rejects a key that was moved to another workspace', async () => {
    const other = await server.workspace();
    await sql('UPDATE countersign.ingestion_keys SET tenant_id = $2 WHERE prefix = $1', [prefixOf(key), other]);
    expect(await statusesOnBothServers(key)).toEqual([401, 401]);
  });

  test('responds with 500 to requests of a workspace whose trail has an inserted event, and accepts requests of other workspaces', async () => {
    const another = await server.key(await server.workspace(), ['audit']);
    await insertUnrecordedKey('fedcbafedcba');
    await sql(
      `INSERT INTO countersign.key_events (tenant_id, seq, id, recorded_at, recorded_by, action, key_id, event_hash, document)
       SELECT tenant_id, seq + 1, gen_random_uuid(), recorded_at, recorded_by, action, key_id, event_hash, replace(document, $2, 'fedcbafedcba') FROM countersign.key_events WHERE tenant_id = $1`,
      [tenantId, prefixOf(key)],
    );
    await sql(`UPDATE countersign.log_heads SET seq = seq + 1, tree_size = tree_size + 1 WHERE tenant_id = $1 AND log = 'keys'`, [
      tenantId,
    ]);
    for (const keyText of [key, formatIngestionKey({ kind: 'live', prefix: 'fedcbafedcba', secret: SECRET })])
      expect(await use(keyText)).toMatchObject({ status: 500, body: { error: 'log_rewritten' } });
    expect(await statusesOnBothServers(another)).toEqual([200, 200]);
  });
});
