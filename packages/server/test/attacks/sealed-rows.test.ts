import { randomBytes, randomUUID } from 'node:crypto';
import { publicJwk } from '@countersign/core/domain/attestation';
import type { Pool } from 'pg';
import pino from 'pino';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { sha256 } from '../../src/crypto/digests.ts';
import { openPool } from '../../src/database/pool.ts';
import { requireSeals } from '../../src/database/seals.ts';
import { fingerprints } from '../../src/secrets/load-secrets.ts';
import { INSTANCE } from '../../src/storage/instance.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { portalClient } from '../harness/portal-client.ts';
import { reseal, withSecret } from '../harness/sealed.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { bytesLiteral, insertRow, textLiteral } from './insert-row.ts';

const lines: string[] = [];
const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });

let server: TestServer;
let tenantId: string;
let key: string;
beforeAll(async () => {
  server = await testServer({ log });
  tenantId = await server.workspace('victim');
  key = await server.key(tenantId);
});

const sql = (statement: string, values: unknown[] = []) => server.database.sql(statement, values);
const command = (...args: string[]) => runCommand(environmentOf(server), ...args);
const check = async () => (await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).body;
const warnings = async () =>
  ((await (await fetch(`${server.url}/readyz`)).json()) as { warnings?: string[] }).warnings?.join(' ') ?? '';

describe('a signing key that was inserted or changed outside the server', () => {
  const readJwks = () => fetch(`${server.url}/.well-known/jwks.json`);
  const jwks = async () => ((await (await readJwks()).json()) as { keys: { kid: string; retired_at?: string }[] }).keys;

  test("is not published if it was inserted, and the server's log, /readyz and `signing-key show` name it", async () => {
    const publicKey = new Uint8Array(32).fill(7);
    const { kid } = publicJwk(publicKey, sha256);
    const kidsBefore = (await jwks()).map((each) => each.kid);
    await insertRow(server.database, 'signing_keys', {
      kid: textLiteral(kid),
      public_key: bytesLiteral(publicKey),
      created_at: 'clock_timestamp()',
    });
    expect((await jwks()).map((each) => each.kid)).toEqual(kidsBefore);
    expect(lines.join('')).toContain(kid);
    expect(await warnings()).toContain(kid);
    const showResult = await command('signing-key', 'show');
    expect(showResult.out).not.toContain(kid);
    expect(showResult.err).toContain(kid);
    await sql('DELETE FROM countersign.signing_keys WHERE kid = $1', [kid]);
  });

  test('is not published if its times or its public key were changed, and `signing-key show` fails', async () => {
    const stored = await sql('SELECT * FROM countersign.signing_keys');
    for (const set of [
      `retired_at = clock_timestamp()`,
      `public_key = sha256('x')`,
      `created_at = created_at - interval '1 day'`,
    ]) {
      await sql(`UPDATE countersign.signing_keys SET ${set}`);
      expect((await readJwks()).status).toBe(500);
      const showResult = await command('signing-key', 'show');
      expect([set, showResult.status]).toEqual([set, 9]);
      expect(showResult.err).toMatch(/signing_keys/);
      await sql('DELETE FROM countersign.signing_keys');
      const [row] = stored as Record<string, unknown>[];
      const columns = Object.keys(row!);
      await sql(
        `INSERT INTO countersign.signing_keys (${columns.join(', ')})
         SELECT ${columns.join(', ')} FROM jsonb_populate_record(NULL::countersign.signing_keys, $1::jsonb)`,
        [JSON.stringify(asJson(row!))],
      );
    }
  });
});

/** A row as JSON that PostgreSQL can read back. Microseconds are lost, but the times of this test's keys are whole milliseconds. */
const asJson = (row: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value]),
  );

describe('the server signs only with decision keys that it wrote', () => {
  test('ignores an inserted older key and a key whose retirement was undone; without a valid key, it makes no decision', async () => {
    const before = await check();
    await insertRow(server.database, 'decision_keys', {
      ...{ tenant_id: textLiteral(tenantId), key_id: textLiteral('dk_000000000000'), created_at: `'2020-01-01'` },
    });
    expect((await check()).key_id).toBe(before.key_id);
    const next = (await command('decision-key', 'rotate', '--workspace', 'victim')).out.trim();
    expect((await command('decision-key', 'retire', '--workspace', 'victim', before.key_id)).status).toBe(0);
    expect((await check()).key_id).toBe(next);
    const stored = (await sql('SELECT retired_at::text AS at FROM countersign.decision_keys WHERE key_id = $1', [
      before.key_id,
    ])) as [{ at: string }];
    await sql('UPDATE countersign.decision_keys SET retired_at = NULL WHERE key_id = $1', [before.key_id]);
    expect((await check()).key_id).toBe(next);
    expect(lines.join('')).toContain(before.key_id);
    await sql(`UPDATE countersign.decision_keys SET created_at = created_at + interval '1 second' WHERE key_id = $1`, [next]);
    const refused = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
    expect([refused.status, refused.body.error]).toEqual([500, 'seal_broken']);
    await sql(`UPDATE countersign.decision_keys SET created_at = created_at - interval '1 second' WHERE key_id = $1`, [next]);
    expect((await check()).key_id).toBe(next);
    await sql('UPDATE countersign.decision_keys SET retired_at = $2::timestamptz WHERE key_id = $1', [
      before.key_id,
      stored[0].at,
    ]);
  });
});

describe('`ledger verify --log audit` compares decision keys with the audit ledger', () => {
  const verify = async (workspace: string) => {
    const { status, out } = await command('ledger', 'verify', '--workspace', workspace, '--log', 'audit');
    return [status, out];
  };

  test('names a deleted key, and a retired key whose row was replaced by an older version of the row', async () => {
    const tenant = await server.workspace('rotated');
    const ofTenant = `WHERE tenant_id = '${tenant}'`;
    const [first] = (await sql(`SELECT key_id FROM countersign.decision_keys ${ofTenant}`)) as [{ key_id: string }];
    await command('decision-key', 'rotate', '--workspace', 'rotated');
    await sql(`CREATE TABLE public.live_keys AS SELECT * FROM countersign.decision_keys ${ofTenant}`);
    await sql('DELETE FROM countersign.decision_keys WHERE key_id = $1', [first.key_id]);
    expect(await verify('rotated')).toEqual([
      1,
      expect.stringContaining(`the row ${first.key_id} differs from the log: it is gone`),
    ]);
    await sql('INSERT INTO countersign.decision_keys SELECT * FROM public.live_keys WHERE key_id = $1', [first.key_id]);
    expect(await verify('rotated')).toEqual([0, expect.stringMatching(/^valid/)]);
    expect((await command('decision-key', 'retire', '--workspace', 'rotated', first.key_id)).status).toBe(0);
    expect(await verify('rotated')).toEqual([0, expect.stringMatching(/^valid/)]);
    await sql('DELETE FROM countersign.decision_keys WHERE key_id = $1', [first.key_id]);
    await sql('INSERT INTO countersign.decision_keys SELECT * FROM public.live_keys WHERE key_id = $1', [first.key_id]);
    expect(await verify('rotated')).toEqual([1, expect.stringContaining(`${first.key_id} differs from the log: it was retired`)]);
  });

  test('names a workspace whose only decision key was deleted; until it is restored, decisions and rotations fail', async () => {
    const tenant = await server.workspace('keyless');
    const sender = await server.key(tenant);
    const requestDecision = () => server.post(paths.promotionCheck, sender, { agent_name: 'bot' });
    expect((await requestDecision()).status).toBe(200);
    await sql('CREATE TABLE public.only_key AS SELECT * FROM countersign.decision_keys WHERE tenant_id = $1', [tenant]);
    await sql('DELETE FROM countersign.decision_keys WHERE tenant_id = $1', [tenant]);
    const refused = await requestDecision();
    expect([refused.status, refused.body.error]).toEqual([500, 'seal_broken']);
    expect(refused.body.issues[0].message).toContain('decision_keys');
    const line = lines.find((each) => each.includes(tenant) && each.includes('the workspace has no live decision key'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 50, table: 'decision_keys', tenantId: tenant });
    expect(await warnings()).toContain('decision_keys');
    expect(await verify('keyless')).toEqual([1, expect.stringContaining('the workspace has no live decision key')]);
    expect(await command('decision-key', 'rotate', '--workspace', 'keyless')).toMatchObject({
      status: 9,
      err: expect.stringContaining('the workspace has no live decision key'),
    });
    await sql('INSERT INTO countersign.decision_keys SELECT * FROM public.only_key');
    expect((await requestDecision()).status).toBe(200);
    expect(await verify('keyless')).toEqual([0, expect.stringMatching(/^valid/)]);
  });

  test('ignores an entry with the action decision_key.rotated that a sender sent', async () => {
    const sender = await server.key(await server.workspace('imitated'), ['audit']);
    const entry = { actor: 'ci', action: 'decision_key.rotated', metadata: { key_id: 'dk_000000000000', signing: null } };
    expect((await server.post(paths.audit, sender, entry)).status).toBe(200);
    expect(await verify('imitated')).toEqual([0, expect.stringMatching(/^valid/)]);
  });
});

test('a command does not open an instance whose row in the table instance was changed', async () => {
  const [{ id }] = (await sql('SELECT id FROM countersign.instance')) as [{ id: string }];
  await sql('UPDATE countersign.instance SET id = $1', [randomUUID()]);
  const refused = await command('workspace', 'list');
  expect(refused.status).toBe(9);
  expect(refused.err).toMatch(/seal of the row in the table instance/);
  await sql('UPDATE countersign.instance SET id = $1', [id]);
  expect((await command('workspace', 'list')).status).toBe(0);
});

describe('an attacker without the master secret', () => {
  /** A secret that the attacker chose. */
  const otherSecret = randomBytes(32);
  let pool: Pool;
  beforeAll(() => {
    pool = withSecret(
      openPool({ ...inject('cluster').superuser, database: server.database.server.database }, { size: 2, name: 'insider' }),
      otherSecret.toString('base64'),
    );
    return () => pool.end();
  });
  const restoreTable = async (table: string) => {
    await sql(`DELETE FROM countersign.${table}`);
    await sql(`INSERT INTO countersign.${table} SELECT * FROM kept_${table}`);
  };
  beforeAll(async () => {
    for (const table of ['instance', 'signing_keys', 'log_heads'])
      await sql(`CREATE TABLE kept_${table} AS TABLE countersign.${table}`);
  });

  test('cannot use a row of the instance that is sealed with another secret: commands exit with the code of wrong_secret', async () => {
    const { signingKey } = server.open.secrets;
    const { master, signing } = fingerprints({ masterSecret: new Uint8Array(otherSecret), signingKey });
    const [{ id }] = (await sql('SELECT id FROM countersign.instance')) as [{ id: string }];
    const facts = { id, masterFingerprint: master, signingFingerprint: signing };
    await sql('UPDATE countersign.instance SET master_secret_fingerprint = $1, seal = $2', [
      master,
      requireSeals(pool).ofRow(INSTANCE, '', facts),
    ]);
    expect(await command('workspace', 'list')).toMatchObject({
      status: 7,
      err: expect.stringContaining('COUNTERSIGN_MASTER_SECRET'),
    });
    await restoreTable('instance');
    expect((await command('workspace', 'list')).status).toBe(0);
  });

  test('cannot give the instance a new identity by deleting its row', async () => {
    await sql('DELETE FROM countersign.instance');
    expect(await command('workspace', 'list')).toMatchObject({
      status: 9,
      err: expect.stringContaining('the row in the table instance is missing'),
    });
    expect(await sql('SELECT id FROM countersign.instance')).toEqual([]);
    await restoreTable('instance');
    expect((await command('workspace', 'list')).status).toBe(0);
  });

  test('cannot give the instance a new identity by deleting its row and keys; a command inserts the current key if the row exists', async () => {
    const keys = async () =>
      (await server.database.sql<{ kid: string }>('SELECT kid FROM countersign.signing_keys')).map(({ kid }) => kid);
    const keysBefore = await keys();
    await sql('DELETE FROM countersign.instance');
    await sql('DELETE FROM countersign.signing_keys');
    expect(await command('workspace', 'list')).toMatchObject({
      status: 9,
      err: expect.stringContaining('the row in the table instance is missing'),
    });
    expect([await sql('SELECT id FROM countersign.instance'), await keys()]).toEqual([[], []]);
    await restoreTable('instance');
    expect((await command('workspace', 'list')).status).toBe(0);
    expect(await keys()).toEqual(keysBefore);
    await restoreTable('signing_keys');
  });

  test('cannot reseal heads: nothing is appended, and `ledger verify` reports the invalid seal', async () => {
    await reseal(pool, tenantId);
    const fresh = await testServer({ database: server.database });
    const refused = await fresh.post(paths.audit, key, { actor: 'ci', action: 'deployed' });
    expect([refused.status, refused.body.error]).toEqual([500, 'log_rewritten']);
    expect(await command('ledger', 'verify', '--workspace', 'victim')).toMatchObject({
      status: 1,
      out: expect.stringMatching(/seal is not valid/),
    });
    await fresh.stop();
    await restoreTable('log_heads');
    expect((await command('ledger', 'verify', '--workspace', 'victim')).status).toBe(0);
  });
});

describe('a workspace whose name was changed in the database', () => {
  test('neither the command nor the portal mistakes it for another workspace', async () => {
    const [one, two] = [await server.workspace('production'), await server.workspace('playground')];
    const admin = await portalClient(server, two, 'admin');
    await sql(
      `UPDATE countersign.tenants SET name = CASE id WHEN $1 THEN 'playground' ELSE 'production' END WHERE id IN ($1, $2)`,
      [one, two],
    );
    const refused = await command('decision-key', 'rotate', '--workspace', 'playground');
    expect(refused.status).toBe(9);
    expect(refused.err).toMatch(/row of tenants is not valid/);
    expect(refused.err).toContain(one);
    const listResult = await command('workspace', 'list', '--json');
    expect(JSON.parse(listResult.out).map(({ name }: { name: string }) => name)).not.toContain('production');
    const [membership] = (await admin.browser.call('GET', '/session')).body.memberships;
    expect(membership.workspace).toEqual({ id: two, name: two });
    const opened = await admin.callRoute('workspace.read');
    expect([opened.status, opened.body.error]).toEqual([500, 'seal_broken']);
    expect(lines.join('')).toContain(two);
    await sql(
      `UPDATE countersign.tenants SET name = CASE id WHEN $1 THEN 'production' ELSE 'playground' END WHERE id IN ($1, $2)`,
      [one, two],
    );
    expect((await admin.callRoute('workspace.read')).body.name).toBe('playground');
  });
});

describe('a response that is stored for an idempotency key, but not written by the server,', () => {
  const send = (idempotencyKey: string) =>
    server.post(paths.audit, key, { actor: 'ci', action: 'deployed' }, { 'idempotency-key': idempotencyKey });
  const countEntries = async () =>
    (
      (await sql('SELECT count(*)::int AS count FROM countersign.audit_entries WHERE tenant_id = $1', [tenantId])) as [
        { count: number },
      ]
    )[0].count;
  const refused = { status: 500, body: { error: 'seal_broken' } };

  test('is not replayed after a change of its body, headers, time or request digest, and the request stores nothing', async () => {
    for (const [name, set] of [
      ['response', `answer = '{"ok":true,"forged":true}'`],
      ['headers', `headers = '{"x-forged":"1"}'`],
      ['request', `body_sha256 = sha256('other')`],
      ['time', `created_at = created_at - interval '3 days'`],
    ] as const) {
      expect((await send(name)).status).toBe(200);
      const before = await countEntries();
      await sql(`UPDATE countersign.idempotency_keys SET ${set} WHERE tenant_id = $1 AND key = $2`, [tenantId, name]);
      expect([name, await send(name)]).toEqual([name, expect.objectContaining({ status: 500 })]);
      expect(await send(name)).toMatchObject(refused);
      expect(await countEntries()).toBe(before);
    }
  });

  test('is not replayed when inserted or moved to another key; a concurrent request with another key succeeds', async () => {
    const before = await countEntries();
    await insertRow(server.database, 'idempotency_keys', {
      ...{
        tenant_id: textLiteral(tenantId),
        path: textLiteral(paths.audit),
        key: textLiteral('inserted'),
        created_at: 'clock_timestamp()',
      },
      ...{
        body_sha256: `sha256('{"actor":"ci","action":"deployed"}')`,
        answer: textLiteral('{"ok":true}'),
        headers: textLiteral('{}'),
      },
    });
    expect((await send('first')).status).toBe(200);
    await sql(`UPDATE countersign.idempotency_keys SET key = 'moved' WHERE tenant_id = $1 AND key = 'first'`, [tenantId]);
    const [insertedResponse, movedResponse, goodResponse] = await Promise.all([send('inserted'), send('moved'), send('good')]);
    for (const response of [insertedResponse, movedResponse]) expect(response).toMatchObject(refused);
    expect(goodResponse!.status).toBe(200);
    expect(await countEntries()).toBe(before + 2);
  });
});
