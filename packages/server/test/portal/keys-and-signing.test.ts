import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { DECISION_KEYS } from '../../src/storage/decision-keys.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { resealRows } from '../harness/sealed.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let admin: PortalClient;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  admin = await portalClient(server, workspace, 'admin');
});

const mint = (body: object) => admin.getResult('keys.mint', { body: { kind: 'live', name: 'ci', ...body } });
const send = async (key: string) => (await server.post(paths.audit, key, { actor: 'ci', action: 'a.b' })).status;
const list = async (query: Record<string, string> = {}) => (await admin.getResult('keys.list', { query })).items;

describe('an ingestion key', () => {
  test('keeps its scopes if a change is based on outdated scopes', async () => {
    const { prefix } = await mint({ scopes: ['audit', 'evaluations'] });
    const change = (body: object) => admin.callRoute('keys.change_scopes', { params: { prefix }, body });
    expect((await change({ scopes: ['audit'] })).status).toBe(200);
    const lateChange = await change({ scopes: ['audit', 'evaluations', 'telemetry'], from: ['evaluations', 'audit'] });
    expect([lateChange.status, lateChange.body.issues[0].message]).toEqual([
      409,
      `the scopes of key ${prefix} are now audit; reload the page and repeat the action`,
    ]);
    expect((await change({ scopes: ['audit', 'telemetry'], from: ['audit'] })).body.scopes).toEqual(['telemetry', 'audit']);
  });

  test('cannot have a scope twice or a name with white space at its ends; the issue names the problem', async () => {
    const issuesOf = async (body: object) => {
      const response = await admin.callRoute('keys.mint', { body: { kind: 'live', name: 'ci', scopes: ['audit'], ...body } });
      expect(response.status).toBe(422);
      return response.body.issues.map(({ path, code, message }: Record<string, string>) => `${path} ${code} ${message}`);
    };
    const twice = '/scopes repeated_item scopes must not contain the same item twice, got "audit" again';
    expect(await issuesOf({ scopes: ['audit', 'audit'] })).toEqual([twice]);
    expect(await issuesOf({ scopes: ['audit', 'telemetry', 'evaluations', 'governance', 'audit'] })).toEqual([
      '/scopes too_many_items scopes must have at most 4 items, got 5',
      twice,
    ]);
    expect(await issuesOf({ name: 'ci ' })).toEqual([' white_space_at_end the name must not begin or end with white space']);
  });

  test('is shown once and works; rotation, changed scopes and revocation apply to the next request and are recorded', async () => {
    const { key, prefix } = await mint({ scopes: ['audit'] });
    expect(key).toMatch(new RegExp(`^aa_live_${prefix}\\.[\\w-]{43}$`));
    expect(await send(key)).toBe(200);
    const params = { prefix };
    const rotated = await admin.getResult('keys.rotate', { params });
    expect([rotated.prefix, await send(key), await send(rotated.key)]).toEqual([prefix, 401, 200]);
    const changed = await admin.getResult('keys.change_scopes', { params, body: { scopes: ['governance', 'telemetry'] } });
    expect([changed.scopes, await send(rotated.key)]).toEqual([['telemetry', 'governance'], 401]);
    expect((await server.post(paths.telemetry, rotated.key, { trace_id: 't', outcome: 'x' })).status).toBe(200);
    const repeated = await admin.callRoute('keys.change_scopes', { params, body: { scopes: ['telemetry', 'governance'] } });
    expect(repeated.status).toBe(409);
    expect((await admin.getResult('keys.revoke', { params })).state).toBe('revoked');
    expect((await server.post(paths.telemetry, rotated.key, { trace_id: 't', outcome: 'x' })).status).toBe(401);
    for (const name of ['keys.rotate', 'keys.revoke'] as const)
      expect((await admin.callRoute(name, { params })).status).toBe(409);
    const [listedKey] = (await list()).filter((each) => each.prefix === prefix);
    expect(listedKey).toMatchObject({ state: 'revoked', name: 'ci', kind: 'live', last_used_at: expect.any(String) });
    const { items } = await admin.getResult('key_events.list', { query: { key_id: listedKey!.id } });
    expect(items.map(({ action, recorded_by, scopes }) => [action, recorded_by, scopes])).toEqual([
      ['revoked', `user:${admin.id}`, ['telemetry', 'governance']],
      ['scopes_changed', `user:${admin.id}`, ['telemetry', 'governance']],
      ['rotated', `user:${admin.id}`, ['audit']],
      ['minted', `user:${admin.id}`, ['audit']],
    ]);
    for (const { document, event_hash } of items)
      expect(createHash('sha256').update(`countersign/key-event/v2\n${document}`).digest('hex')).toBe(event_hash);
    expect(JSON.stringify([items, await list()])).not.toContain(rotated.key.split('.')[1]);
  });

  test('has a name that viewers can look up by the prefix of the key, even after its revocation', async () => {
    const viewer = await portalClient(server, workspace, 'viewer');
    const { prefix } = await mint({ name: 'nightly of the pipeline', scopes: ['audit'] });
    await admin.getResult('keys.revoke', { params: { prefix } });
    expect(await viewer.getResult('keys.name', { params: { prefix } })).toEqual({ name: 'nightly of the pipeline' });
    for (const unknown of ['000000000000', 'no-prefix', '%00'])
      expect((await viewer.callRoute('keys.name', { params: { prefix: unknown } })).status).toBe(404);
  });

  test('expires at its expiry time; an expiry time in the past or after the year 9999 is rejected', async () => {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const { prefix } = await mint({ scopes: ['audit'], expires_at });
    expect((await list()).find((each) => each.prefix === prefix)).toMatchObject({ expires_at, state: 'active' });
    await server.database.sql(
      `UPDATE countersign.ingestion_keys SET expires_at = now() - interval '1 second' WHERE prefix = $1`,
      [prefix],
    );
    expect((await list()).find((each) => each.prefix === prefix)).toMatchObject({ state: 'expired' });
    for (const wrongTime of ['2020-01-01T00:00:00Z', '9999-12-31T23:59:59-12:00']) {
      const { status, body } = await admin.callRoute('keys.mint', {
        body: { kind: 'live', name: 'x', scopes: ['audit'], expires_at: wrongTime },
      });
      expect([wrongTime, status, body.issues[0].path]).toEqual([wrongTime, 422, '/expires_at']);
    }
  });

  test('requires scopes; a read token cannot have scopes, can read and cannot write', async () => {
    const rejected = await admin.callRoute('keys.mint', { body: { kind: 'live', name: 'x' } });
    expect([rejected.status, rejected.body.issues[0]]).toMatchObject([422, { path: '/scopes', code: 'required' }]);
    const chosen = await admin.callRoute('keys.mint', { body: { kind: 'read', name: 'x', scopes: ['audit'] } });
    expect([chosen.status, chosen.body.issues[0].path]).toEqual([422, '/scopes']);
    const token = await mint({ kind: 'read', name: 'auditor' });
    expect(token.key.startsWith('aa_read_')).toBe(true);
    expect(await send(token.key)).toBe(401);
    const read = await fetch(`${server.url}/api/ledger/keys/checkpoint`, { headers: { authorization: `Bearer ${token.key}` } });
    expect(read.status).toBe(200);
    expect((await list({ kind: 'read' })).map(({ prefix }) => prefix)).toEqual([token.prefix]);
    const { status } = await admin.callRoute('keys.change_scopes', {
      params: { prefix: token.prefix },
      body: { scopes: ['audit'] },
    });
    expect(status).toBe(409);
  });

  test('is listed once over all pages; each event of the key audit trail is also listed once, newest first', async () => {
    for (const name of ['k-1', 'k-2', 'k-3']) await mint({ name, scopes: ['audit'] });
    const allPrefixes = (await list()).map(({ prefix }) => prefix);
    const first = await admin.getResult('keys.list', { query: { limit: '2' } });
    const second = await admin.getResult('keys.list', { query: { limit: '200', cursor: first.next! } });
    expect([...first.items, ...second.items].map(({ prefix }) => prefix)).toEqual(allPrefixes);
    const events = await admin.getResult('key_events.list', { query: { limit: '2' } });
    const nextEvents = await admin.getResult('key_events.list', { query: { cursor: events.next! } });
    const seqs = [...events.items, ...nextEvents.items].map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => seqs[0]! - index));
  });
});

describe('the decision key', () => {
  test('is shown to an admin, and the ledger records this; a new key signs after the old one is retired', async () => {
    const { decision_keys, public_keys } = await admin.getResult('signing.read');
    const jwks = await (await fetch(`${server.url}/.well-known/jwks.json`)).json();
    expect({ keys: public_keys }).toEqual(jwks);
    const old = decision_keys[0]!.key_id;
    expect(decision_keys).toMatchObject([{ state: 'signs', retired_at: null }]);
    const shown = await admin.getResult('decision_keys.show', { params: { key: old } });
    expect(shown).toEqual({ key_id: old, decision_key: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect((await admin.callRoute('decision_keys.retire', { params: { key: old } })).status).toBe(409);
    const { key_id } = await admin.getResult('decision_keys.rotate');
    expect((await admin.getResult('signing.read')).decision_keys.map(({ state }) => state)).toEqual(['signs', 'waits']);
    expect((await admin.callRoute('decision_keys.rotate')).status).toBe(409);
    expect(await admin.getResult('decision_keys.retire', { params: { key: old } })).toEqual({ signing: key_id });
    expect((await admin.getResult('signing.read')).decision_keys.map(({ state }) => state)).toEqual(['retired', 'signs']);
    expect((await admin.callRoute('decision_keys.show', { params: { key: 'dk_000000000000' } })).status).toBe(404);
    const { items } = await admin.getResult('ledger.list', { query: { actor: `user:${admin.id}` } });
    expect(items.map(({ action, subject }) => [action, subject])).toEqual([
      ['decision_key.retired', old],
      ['decision_key.rotated', key_id],
      ['decision_key.shown', old],
    ]);
    expect(JSON.stringify(items)).not.toContain(shown.decision_key);
  });

  test('does not sign directly after its creation, even if the older key was created while a clock was ahead', async () => {
    const otherWorkspace = await server.workspace();
    const { getResult } = await portalClient(server, otherWorkspace, 'admin');
    const [old] = (await getResult('signing.read')).decision_keys;
    const update = `UPDATE countersign.decision_keys SET created_at = created_at + interval '1 hour' WHERE tenant_id = $1`;
    await server.database.sql(update, [otherWorkspace]);
    await resealRows(server, DECISION_KEYS, 't.tenant_id = $1', [otherWorkspace]);
    const { key_id } = await getResult('decision_keys.rotate');
    const key = await server.key(otherWorkspace);
    const decision = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
    expect(decision.body.key_id).toBe(old!.key_id);
    expect((await getResult('signing.read')).decision_keys).toMatchObject([
      { key_id: old!.key_id, state: 'signs' },
      { key_id, state: 'waits' },
    ]);
  });
});
