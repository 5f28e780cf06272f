import { hash } from 'node:crypto';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { verifyKey } from '../../src/ledger/key-states.ts';
import { findKeys } from '../../src/storage/ingestion-keys.ts';
import { changeScopes, mintKey, revokeKey, rotateKey } from '../../src/workspace/ingestion-keys.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let otherServer: TestServer;
let tenantId: string;

beforeAll(async () => {
  server = await testServer();
  otherServer = await testServer({ database: server.database });
  tenantId = await server.workspace();
});

const entry = { actor: 'ci', action: 'key.used' };
const use = async (target: TestServer, key: string) => (await target.post(paths.audit, key, entry)).status;
const prefixOf = (key: string) => key.slice('aa_live_'.length, 'aa_live_'.length + 12);

describe('changes of keys take effect on the next request on every server', () => {
  test('a new key works immediately on both servers', async () => {
    const key = await server.key(tenantId);
    expect(await Promise.all([use(otherServer, key), use(server, key)])).toEqual([200, 200]);
  });

  test('after a rotation, only the new secret works on both servers', async () => {
    const old = await server.key(tenantId);
    expect([await use(server, old), await use(otherServer, old)]).toEqual([200, 200]);
    const rotated = await rotateKey(server.open.pool, tenantId, prefixOf(old), 'operator');
    expect(prefixOf(rotated)).toBe(prefixOf(old));
    expect(rotated).not.toBe(old);
    expect([await use(otherServer, old), await use(server, old)]).toEqual([401, 401]);
    expect([await use(otherServer, rotated), await use(server, rotated)]).toEqual([200, 200]);
  });

  test('a revoked key fails on both servers and cannot be rotated', async () => {
    const key = await server.key(tenantId);
    expect([await use(server, key), await use(otherServer, key)]).toEqual([200, 200]);
    await revokeKey(server.open.pool, tenantId, prefixOf(key), 'operator');
    expect([await use(otherServer, key), await use(server, key)]).toEqual([401, 401]);
    await expect(rotateKey(server.open.pool, tenantId, prefixOf(key), 'operator')).rejects.toThrow('was revoked');
  });

  test('a key stops working when it expires', async () => {
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const key = await mintKey(server.open.pool, tenantId, { name: 'short-lived', scopes: ['audit'], expiresAt }, 'operator');
    expect(await use(server, key)).toBe(200);
    await vi.waitUntil(() => Date.now() > Date.parse(expiresAt), { timeout: 5_000 });
    expect([await use(server, key), await use(otherServer, key)]).toEqual([401, 401]);
  });

  test('after a scope was removed, the next request that needs it is rejected', async () => {
    const key = await server.key(tenantId, ['audit', 'telemetry']);
    expect(await use(otherServer, key)).toBe(200);
    await changeScopes(server.open.pool, tenantId, { prefix: prefixOf(key), scopes: ['telemetry'] }, 'operator');
    expect((await otherServer.post(paths.audit, key, entry)).body.error).toBe('insufficient_scope');
  });
});

test('a key is verified without reading the key audit trail, except at its first use after a change of the trail', async () => {
  const newWorkspace = await server.workspace();
  const key = await server.key(newWorkspace);
  const needsRead = async () => {
    const [record] = await findKeys(server.open.pool, [prefixOf(key)]);
    const verification = verifyKey(server.open.pool, record!);
    expect(await verification).toMatchObject({ prefix: prefixOf(key) });
    return verification instanceof Promise;
  };
  expect([await needsRead(), await needsRead()]).toEqual([true, false]);
  await otherServer.key(newWorkspace);
  expect([await needsRead(), await needsRead()]).toEqual([true, false]);
});

describe('keys in the database', () => {
  test('a key has the format aa_live_<12 hex>.<43 base64url>; its row contains the SHA-256 of the secret, but its events do not', async () => {
    const key = await server.key(tenantId);
    expect(key).toMatch(/^aa_live_[0-9a-f]{12}\.[A-Za-z0-9_-]{43}$/);
    const secret = key.split('.')[1]!;
    const [row] = await server.database.sql<{ sha256: string }>(
      `SELECT encode(secret_sha256, 'hex') AS sha256 FROM countersign.ingestion_keys WHERE prefix = $1`,
      [prefixOf(key)],
    );
    expect(row?.sha256).toBe(hash('sha256', secret));
    const matches = await server.database.sql<{ found: boolean }>(
      `SELECT count(*) > 0 AS found FROM countersign.key_events WHERE document LIKE '%' || $1 || '%' OR document LIKE '%' || $2 || '%'`,
      [secret, row!.sha256],
    );
    expect(matches).toEqual([{ found: false }]);
  });

  test('the key audit trail records minting, rotation and revocation in order without a gap', async () => {
    const newWorkspace = await server.workspace();
    const key = await server.key(newWorkspace, ['governance']);
    await rotateKey(server.open.pool, newWorkspace, prefixOf(key), 'operator');
    await revokeKey(server.open.pool, newWorkspace, prefixOf(key), 'operator');
    const events = await server.database.sql<{ seq: number; document: string }>(
      'SELECT seq, document FROM countersign.key_events WHERE tenant_id = $1 ORDER BY seq',
      [newWorkspace],
    );
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(events.map(({ document }) => JSON.parse(document))).toMatchObject(
      ['minted', 'rotated', 'revoked'].map((action, index) => ({
        action,
        seq: index + 1,
        tenant_id: newWorkspace,
        prefix: prefixOf(key),
        recorded_by: 'operator',
        scopes: ['governance'],
      })),
    );
  });

  test('the last use of a key is recorded, but not again for requests within the next minute', async () => {
    const key = await server.key(tenantId);
    const lastUse = () =>
      server.database.sql<{ at: Date }>(
        `SELECT last_used_at AS at FROM countersign.key_last_use AS u JOIN countersign.ingestion_keys AS k ON k.id = u.key_id WHERE k.prefix = $1`,
        [prefixOf(key)],
      );
    expect(await lastUse()).toEqual([]);
    await use(server, key);
    await expect.poll(async () => (await lastUse()).length).toBe(1);
    const first = await lastUse();
    await use(server, key);
    await use(otherServer, key);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await lastUse()).toEqual(first);
  });
});
