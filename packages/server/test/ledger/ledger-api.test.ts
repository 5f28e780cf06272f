import { publicJwk } from '@countersign/core/domain/attestation';
import { openCheckpoint, originOf } from '@countersign/core/domain/checkpoint';
import { decisionDigest } from '@countersign/core/domain/decision-signature';
import { parseLogProof } from '@countersign/core/domain/log-proof';
import { rootOfInclusion, rootsOfConsistency } from '@countersign/core/domain/merkle-proof';
import { leafHash } from '@countersign/core/domain/merkle-tree';
import { openAttestation } from '@countersign/core/domain/open-attestation';
import { fromBase64, noteVerifierKey, parseNoteVerifierKey, toBase64 } from '@countersign/core/domain/signed-note';
import { beforeAll, describe, expect, test } from 'vitest';
import { digests, sha256, verifyEd25519 } from '../../src/crypto/digests.ts';
import { mintKey, revokeKey } from '../../src/workspace/ingestion-keys.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;
let token: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
  token = await mintReadToken(tenantId);
  await append(300);
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 90 });
});

const mintReadToken = (tenant: string) =>
  mintKey(server.open.pool, tenant, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
const append = async (count: number) => {
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      server.post(paths.audit, key, { actor: 'ci', action: 'test.ran', metadata: { index } }),
    ),
  );
};
const get = async (path: string, bearer: string | null = token) => {
  const response = await fetch(server.url + path, { headers: bearer === null ? {} : { authorization: `Bearer ${bearer}` } });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};
const getJson = async (path: string) => JSON.parse((await get(path)).text);
const instanceKeys = async () => {
  const { keys } = await getJson('/.well-known/jwks.json');
  return keys.map(({ note_key }: { note_key: string }) => parseNoteVerifierKey(note_key, sha256)!);
};
const openNote = async (note: string) => {
  const result = openCheckpoint(note, await instanceKeys(), verifyEd25519, sha256);
  if ('fault' in result) throw new Error(result.fault);
  return result.head;
};

describe('read access', () => {
  test('a read token can read and cannot write; a read without a read token is rejected', async () => {
    expect((await get('/api/ledger/audit/checkpoint')).status).toBe(200);
    expect(JSON.parse((await get('/api/ledger/audit/checkpoint', key)).text)).toMatchObject({
      error: 'insufficient_scope',
      issues: [{ message: 'this endpoint needs a read token (`tokens mint`)' }],
    });
    for (const path of Object.values(paths)) expect((await server.post(path, token, {})).body.error).toBe('insufficient_scope');
    expect((await get('/api/ledger/audit/checkpoint', null)).status).toBe(401);
    expect((await get('/api/ledger/audit/checkpoint', token.replace('aa_read_', 'aa_live_'))).status).toBe(401);
  });

  test('rejects a revoked read token on the next request; the key audit trail records that it was minted and revoked', async () => {
    const otherToken = await mintReadToken(tenantId);
    expect((await get('/api/ledger/audit/checkpoint', otherToken)).status).toBe(200);
    await revokeKey(server.open.pool, tenantId, otherToken.slice(8, 20), 'operator');
    expect((await get('/api/ledger/audit/checkpoint', otherToken)).status).toBe(401);
    const events = await server.database.sql<{ action: string }>(
      `SELECT action FROM countersign.key_events WHERE tenant_id = $1 AND document LIKE '%' || $2 || '%' ORDER BY seq`,
      [tenantId, otherToken.slice(8, 20)],
    );
    expect(events.map(({ action }) => action)).toEqual(['minted', 'revoked']);
  });

  test('no cache may store a response, because the URL is the same for every workspace', async () => {
    const found = [];
    for (const path of ['audit/entries', 'audit/checkpoint', `decisions/${crypto.randomUUID()}`]) {
      const { status, headers } = await fetch(`${server.url}/api/ledger/${path}`, { headers: { 'x-service-key': token } });
      found.push([status, headers.get('cache-control')]);
    }
    const noStore = [200, 200, 404].map((status) => [status, 'no-store']);
    expect(found).toEqual(noStore);
  });

  test('streams entries as NDJSON by range, returns nothing beyond the last entry, and rejects an invalid range', async () => {
    const all = await get('/api/ledger/audit/entries');
    expect(all.type).toContain('application/x-ndjson');
    const rows = all.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: rows.length }, (_, index) => index + 1));
    const some = (await get('/api/ledger/audit/entries?from=7&to=9')).text.trim().split('\n');
    expect(some.map((line) => JSON.parse(line).seq)).toEqual([7, 8, 9]);
    expect((await get('/api/ledger/audit/entries?from=100000')).text).toBe('');
    for (const query of [
      'from=0',
      'frm=5',
      'from=9&to=7',
      'from=-1',
      'from=x',
      'from=1&from=2',
      'to=1.5',
      'from=99999999999999999',
    ]) {
      expect(JSON.parse((await get(`/api/ledger/audit/entries?${query}`)).text), query).toMatchObject({
        error: 'validation_failed',
        issues: [{ code: 'bad_query' }],
      });
    }
  });

  test('the key audit trail offers a checkpoint and no entries; an unknown log gets 404', async () => {
    expect((await get('/api/ledger/keys/checkpoint')).status).toBe(200);
    expect((await get('/api/ledger/keys/entries')).status).toBe(404);
    expect((await get('/api/ledger/secrets/checkpoint')).status).toBe(404);
    const wrongMethod = await fetch(`${server.url}/api/ledger/audit/checkpoint`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'GET']);
  });

  test('a tenant sees nothing of another tenant', async () => {
    const other = await server.workspace();
    const foreignToken = await mintReadToken(other);
    const { decision_id } = (await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).body;
    expect((await get('/api/ledger/audit/entries', foreignToken)).text).toBe('');
    expect((await get(`/api/ledger/decisions/${decision_id}`, foreignToken)).status).toBe(404);
    expect(parseInt((await get('/api/ledger/audit/checkpoint', foreignToken)).text.split('\n')[1]!, 10)).toBe(0);
  });
});

describe('proofs', () => {
  test('the checkpoint covers every row and is signed by a published key', async () => {
    const head = await openNote((await get('/api/ledger/audit/checkpoint')).text);
    const [{ count }] = (await server.database.sql<{ count: string }>(
      'SELECT count(*) FROM countersign.audit_entries WHERE tenant_id = $1',
      [tenantId],
    )) as [{ count: string }];
    expect(head).toMatchObject({ origin: originOf(tenantId, 'audit'), size: Number(count) });
  });

  test('rows have valid inclusion proofs, also at the edges of stored subtrees', async () => {
    const rows = (await get('/api/ledger/audit/entries')).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const seq of [1, 2, 100, 255, 256, 257, 258, rows.length]) {
      const proof = parseLogProof((await get(`/api/ledger/audit/inclusion/${seq}`)).text)!;
      const { size, root } = await openNote(proof.checkpoint);
      const leaf = leafHash(Buffer.from(rows[seq - 1].row_hash, 'hex'), sha256);
      expect(toBase64(rootOfInclusion(proof.index, size, leaf, proof.hashes, sha256)!)).toBe(toBase64(root));
    }
    expect((await get(`/api/ledger/audit/inclusion/${rows.length + 1000}`)).status).toBe(404);
    expect((await get('/api/ledger/audit/inclusion/0')).status).toBe(404);
  });

  test('a consistency proof shows that the newest checkpoint extends an earlier one; invalid sizes are rejected', async () => {
    const before = await openNote((await get('/api/ledger/audit/checkpoint')).text);
    await append(40);
    const proof = await getJson(`/api/ledger/audit/consistency?first=${before.size}`);
    const after = await openNote(proof.checkpoint);
    expect(after.size).toBe(before.size + 40);
    const roots = rootsOfConsistency(before.size, after.size, before.root, proof.hashes.map(fromBase64), sha256)!;
    expect([toBase64(roots.first), toBase64(roots.second)]).toEqual([toBase64(before.root), toBase64(after.root)]);
    expect((await get('/api/ledger/audit/consistency?first=5&second=3')).status).toBe(422);
    expect((await get('/api/ledger/audit/consistency?first=5&second=1000000')).status).toBe(422);
    expect((await get('/api/ledger/audit/consistency')).status).toBe(422);
    expect((await getJson('/api/ledger/audit/consistency?first=5&second=7')).second).toBe(7);
  });

  test('the response of a promotion check names the heads of two logs, which the next checkpoints confirm', async () => {
    const { headers } = await server.post(paths.promotionCheck, key, { agent_name: 'nobody' });
    const heads = headers.get('countersign-checkpoint')!.split(', ');
    for (const [index, log] of (['audit', 'decisions'] as const).entries()) {
      const { size, root } = await openNote((await get(`/api/ledger/${log}/checkpoint`)).text);
      expect(heads[index]).toBe(`${log};size=${size};root=:${toBase64(root)}:`);
    }
  });
});

describe('decisions and attestations', () => {
  test('a decision is read exactly as the promotion check returned it, and its attestation verifies with a published key', async () => {
    const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
    expect(await getJson(`/api/ledger/decisions/${body.decision_id}`)).toEqual(body);
    const envelope = await getJson(`/api/ledger/decisions/${body.decision_id}/attestation`);
    const keys = (await instanceKeys()).map(({ publicKey }: { publicKey: Uint8Array }) => ({
      keyid: publicJwk(publicKey, sha256).kid,
      publicKey,
    }));
    const result = openAttestation(envelope, keys, verifyEd25519, (decision) => decisionDigest(decision, digests));
    expect(result).toMatchObject({ decision: body });
    const lines = (await get('/api/ledger/decisions/entries')).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.find(({ decision }) => decision.decision_id === body.decision_id)?.decision).toEqual(body);
  });

  test('a decision that was altered in the database is not attested', async () => {
    const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot', min_pass_rate: 99 });
    await server.database.sql('ALTER TABLE countersign.decisions DISABLE TRIGGER append_only');
    await server.database.sql(
      `UPDATE countersign.decisions SET document = replace(document, '"allowed":false', '"allowed":true') WHERE id = $1`,
      [body.decision_id],
    );
    expect((await get(`/api/ledger/decisions/${body.decision_id}/attestation`)).status).toBe(500);
    await server.database.sql('ALTER TABLE countersign.decisions ENABLE ALWAYS TRIGGER append_only');
  });

  test.each([
    ['the document', `document = replace(document, '"allowed":false', '"allowed":true')`, 500],
    [
      'the document by repeating a member',
      `document = replace(document, '{"allowed":false', '{"allowed":true,"allowed":false')`,
      500,
    ],
    ['the evidence', `evidence = replace(evidence, '"min_pass_rate":99', '"min_pass_rate":10')`, 200],
  ])('if an attacker changes %s, the read API does not return the changed text', async (_, change, statusOfDecision) => {
    const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot', min_pass_rate: 99 });
    const readStatuses = async () => {
      const decision = `/api/ledger/decisions/${body.decision_id}`;
      return [(await get(decision)).status, (await get(`${decision}/evidence`)).status];
    };
    expect(await readStatuses()).toEqual([200, 200]);
    await server.database.sql('ALTER TABLE countersign.decisions DISABLE TRIGGER append_only');
    const [before] = await server.database.sql('SELECT document, evidence FROM countersign.decisions WHERE id = $1', [
      body.decision_id,
    ]);
    await server.database.sql(`UPDATE countersign.decisions SET ${change} WHERE id = $1`, [body.decision_id]);
    expect(await readStatuses()).toEqual([statusOfDecision, 500]);
    await server.database.sql('UPDATE countersign.decisions SET document = $2, evidence = $3 WHERE id = $1', [
      ...[body.decision_id, before!.document, before!.evidence],
    ]);
    await server.database.sql('ALTER TABLE countersign.decisions ENABLE ALWAYS TRIGGER append_only');
    expect(await readStatuses()).toEqual([200, 200]);
  });

  test('responds with 404 to an unknown ID in any format', async () => {
    for (const id of ['0198f1c2-ac30-7e77-8b42-8c3d4e5f6071', 'x', '..%2f..'])
      expect((await get(`/api/ledger/decisions/${id}`)).status, id).toBe(404);
  });

  test('the published keys are JWKs whose IDs are their thumbprints, each with its verifier key for notes', async () => {
    const { keys } = await getJson('/.well-known/jwks.json');
    expect(keys).toHaveLength(1);
    const publicKey = new Uint8Array(Buffer.from(keys[0].x, 'base64url'));
    expect(keys[0]).toMatchObject(publicJwk(publicKey, sha256));
    const [noteKey] = await instanceKeys();
    expect(noteVerifierKey(noteKey, sha256)).toBe(keys[0].note_key);
  });
});
