import { beforeAll, expect, test, vi } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { createWorkspaceSetUpLink } from '../../src/people/one-time-links.ts';
import { hashOfToken } from '../../src/people/secret-token.ts';
import { deleteExpiredResponses, findStoredResponses } from '../../src/storage/idempotency.ts';
import { deleteExpiredLinks, findLink, ONE_TIME_LINKS } from '../../src/storage/one-time-links.ts';
import { deleteExpiredSessions } from '../../src/storage/sessions.ts';
import { countAttempt, deletePastAttempts } from '../../src/storage/sign-in-attempts.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { resealRows } from '../harness/sealed.ts';
import { databaseWithShiftedClock, type ShiftedDatabase } from '../harness/shifted-clock.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const ENTRY = { actor: 'ci', action: 'test.ran' };
const HOUR_MS = 3_600_000;
const LIMIT = { limit: 10, windowSeconds: 900 };

let database: ShiftedDatabase;
let server: TestServer;
let tenantId: string;
let key: string;
let readToken: string;
let member: PortalClient;
let linkHash: Buffer;
beforeAll(async () => {
  database = await databaseWithShiftedClock();
  server = await testServer({ database });
  const { pool } = server.open;
  tenantId = await server.workspace();
  const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
  key = await mintKey(pool, tenantId, { name: 'short', scopes: ['audit'], expiresAt }, 'operator');
  readToken = await mintKey(pool, tenantId, { name: 'short', scopes: ['read'], expiresAt }, 'operator');
  const { path } = await createWorkspaceSetUpLink(pool, tenantId);
  linkHash = hashOfToken(path.slice(path.indexOf('#') + 1))!;
  member = await portalClient(server, tenantId, 'admin');
  expect((await server.post(paths.audit, key, ENTRY, { 'idempotency-key': 'one' })).status).toBe(200);
});

const readStatus = async () =>
  (await fetch(`${server.url}/api/ledger/audit/entries`, { headers: { authorization: `Bearer ${readToken}` } })).status;
const countStoredResponses = async () =>
  (await inTenantTransaction(server.open.pool, tenantId, (tx) => findStoredResponses(tx, paths.audit, ['one']))).size;
const countRows = async (table: string) =>
  (await database.sql<{ count: number }>(`SELECT count(*)::int AS count FROM countersign.${table}`))[0]!.count;
const waitForRecovery = () =>
  vi.waitUntil(async () => (await server.post(paths.audit, key, ENTRY)).status === 200, { timeout: 40_000, interval: 250 });

test('a database clock that jumps forward expires nothing', { timeout: 60_000 }, async () => {
  const { pool, ledgerPool } = server.open;
  const subject = Buffer.alloc(32, 1);
  await countAttempt(pool, subject, LIMIT);
  const tables = ['sessions', 'one_time_links', 'idempotency_keys', 'sign_in_attempts'];
  const before = await Promise.all(tables.map(countRows));
  await database.shiftClock('20 years');
  for (const isNoticed of [false, true]) {
    if (isNoticed) await vi.waitUntil(() => server.open.clock.fault() !== undefined, { timeout: 20_000 });
    expect(await countStoredResponses()).toBe(1);
    expect(await readStatus()).toBe(200);
    expect((await member.getResult('keys.list')).items.map(({ state }) => state)).toEqual(['active', 'active']);
    expect(await findLink(pool, linkHash)).toMatchObject({ purpose: 'set_up' });
    await deleteExpiredSessions(ledgerPool);
    await deleteExpiredLinks(ledgerPool);
    await deletePastAttempts(ledgerPool);
    expect(await inTenantTransaction(ledgerPool, tenantId, deleteExpiredResponses)).toBe(0);
    expect(await Promise.all(tables.map(countRows))).toEqual(before);
  }
  // The key is accepted; only the write is rejected.
  expect((await server.post(paths.audit, key, ENTRY)).body.error).toBe('clock_unsafe');
  expect((await countAttempt(pool, subject, LIMIT)).attempts).toBe(2);
  const otherSubject = Buffer.alloc(32, 2);
  expect((await countAttempt(pool, otherSubject, LIMIT)).secondsLeft).toBeLessThanOrEqual(900);
  const { expiresAt } = await createWorkspaceSetUpLink(pool, tenantId);
  expect(Date.parse(expiresAt) - Date.now()).toBeLessThan(80 * HOUR_MS);
  await database.shiftClock('0');
  await waitForRecovery();
  const repeated = await server.post(paths.audit, key, ENTRY, { 'idempotency-key': 'one' });
  expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
});

test('a database clock that jumps back makes no expired read token or link valid again', { timeout: 60_000 }, async () => {
  const expiresAt = new Date(Date.now() + 1_500).toISOString();
  readToken = await mintKey(server.open.pool, tenantId, { name: 'shorter', scopes: ['read'], expiresAt }, 'operator');
  await vi.waitUntil(async () => (await readStatus()) === 401, { timeout: 10_000 });
  await database.shiftClock('-1 hour');
  await vi.waitFor(() => expect(server.open.clock.fault()).toBeDefined(), { timeout: 20_000 });
  expect(await readStatus()).toBe(401);
  await database.sql(`UPDATE countersign.one_time_links SET expires_at = pg_catalog.clock_timestamp() - interval '10 minutes'`);
  await resealRows(server, ONE_TIME_LINKS);
  expect(await findLink(server.open.pool, linkHash)).toBeUndefined();
  await database.shiftClock('0');
  await waitForRecovery();
});
