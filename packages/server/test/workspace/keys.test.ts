import { hash } from 'node:crypto';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { changeScopes, mintKey, revokeKey, rotateKey } from '../../src/workspace/ingestion-keys.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let here: TestServer;
let there: TestServer;
let tenantId: string;

beforeAll(async () => {
  here = await testServer();
  there = await testServer({ database: here.database });
  tenantId = await here.workspace();
});

const entry = { actor: 'ci', action: 'key.used' };
const use = async (server: TestServer, key: string) => (await server.post(paths.audit, key, entry)).status;
const prefixOf = (key: string) => key.slice('aa_live_'.length, 'aa_live_'.length + 12);

describe('changes of keys take effect on the next request on every server', () => {
  test('a new key works at once on both servers', async () => {
    const key = await here.key(tenantId);
    expect(await Promise.all([use(there, key), use(here, key)])).toEqual([200, 200]);
  });

  test('after a rotation only the new secret works, also on the other server', async () => {
    const old = await here.key(tenantId);
    expect([await use(here, old), await use(there, old)]).toEqual([200, 200]);
    const fresh = await rotateKey(here.open.pool, tenantId, prefixOf(old), 'operator');
    expect(prefixOf(fresh)).toBe(prefixOf(old));
    expect(fresh).not.toBe(old);
    expect([await use(there, old), await use(here, old)]).toEqual([401, 401]);
    expect([await use(there, fresh), await use(here, fresh)]).toEqual([200, 200]);
  });

  test('a revoked key fails on both servers and cannot be rotated', async () => {
    const key = await here.key(tenantId);
    expect([await use(here, key), await use(there, key)]).toEqual([200, 200]);
    await revokeKey(here.open.pool, tenantId, prefixOf(key), 'operator');
    expect([await use(there, key), await use(here, key)]).toEqual([401, 401]);
    await expect(rotateKey(here.open.pool, tenantId, prefixOf(key), 'operator')).rejects.toThrow('was revoked');
  });

  test('a key fails from its expiry on', async () => {
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const key = await mintKey(here.open.pool, tenantId, { name: 'short-lived', scopes: ['audit'], expiresAt }, 'operator');
    expect(await use(here, key)).toBe(200);
    await vi.waitUntil(() => Date.now() > Date.parse(expiresAt), { timeout: 5_000 });
    expect([await use(here, key), await use(there, key)]).toEqual([401, 401]);
  });

  test('a removed scope is missing on the next request', async () => {
    const key = await here.key(tenantId, ['audit', 'telemetry']);
    expect(await use(there, key)).toBe(200);
    await changeScopes(here.open.pool, tenantId, { prefix: prefixOf(key), scopes: ['telemetry'] }, 'operator');
    expect((await there.post(paths.audit, key, entry)).body.error).toBe('insufficient_scope');
  });
});

describe('stored data of a key', () => {
  test('has the format aa_live_<12 hex>.<43 base64url>, and only the SHA-256 of the secret is stored', async () => {
    const key = await here.key(tenantId);
    expect(key).toMatch(/^aa_live_[0-9a-f]{12}\.[A-Za-z0-9_-]{43}$/);
    const secret = key.split('.')[1]!;
    const [row] = await here.database.sql<{ sha256: string }>(
      `SELECT encode(secret_sha256, 'hex') AS sha256 FROM countersign.ingestion_keys WHERE prefix = $1`,
      [prefixOf(key)],
    );
    expect(row?.sha256).toBe(hash('sha256', secret));
    const everything = await here.database.sql<{ found: boolean }>(
      `SELECT count(*) > 0 AS found FROM countersign.key_events WHERE document LIKE '%' || $1 || '%' OR document LIKE '%' || $2 || '%'`,
      [secret, row!.sha256],
    );
    expect(everything).toEqual([{ found: false }]);
  });

  test('the key audit trail records minting, rotation and revocation in order without a gap', async () => {
    const own = await here.workspace();
    const key = await here.key(own, ['governance']);
    await rotateKey(here.open.pool, own, prefixOf(key), 'operator');
    await revokeKey(here.open.pool, own, prefixOf(key), 'operator');
    const events = await here.database.sql<{ seq: number; document: string }>(
      'SELECT seq, document FROM countersign.key_events WHERE tenant_id = $1 ORDER BY seq',
      [own],
    );
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(events.map(({ document }) => JSON.parse(document))).toMatchObject(
      ['minted', 'rotated', 'revoked'].map((action, index) => ({
        action,
        seq: index + 1,
        tenant_id: own,
        prefix: prefixOf(key),
        recorded_by: 'operator',
        scopes: ['governance'],
      })),
    );
  });

  test('records the last use once and not on every request', async () => {
    const key = await here.key(tenantId);
    const lastUse = () =>
      here.database.sql<{ at: Date }>(
        `SELECT last_used_at AS at FROM countersign.key_last_use AS u JOIN countersign.ingestion_keys AS k ON k.id = u.key_id WHERE k.prefix = $1`,
        [prefixOf(key)],
      );
    expect(await lastUse()).toEqual([]);
    await use(here, key);
    await expect.poll(async () => (await lastUse()).length).toBe(1);
    const first = await lastUse();
    await use(here, key);
    await use(there, key);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await lastUse()).toEqual(first);
  });
});
