import { generateKeyPairSync, sign } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { vectors } from '../../../core/test/vectors.ts';
import {
  deriveDecisionKey,
  digests as nodeDigests,
  sha256 as nodeSha256,
  verifyEd25519 as nodeVerify,
} from '../../../server/src/crypto/digests.ts';
import { mintKey } from '../../../server/src/workspace/ingestion-keys.ts';
import { type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import {
  ConfigurationError,
  Countersign,
  type PromotionDecision,
  receiptOf,
  verifyAttestation,
  verifyDecision,
  verifyLedger,
} from '../../src/index.ts';
import { digests, sha256, verifyEd25519 } from '../../src/verification/cryptography.ts';

const succession = vectors('signing-key-succession');
/** TEST 1 of RFC 8032, section 7.1. */
const FOREIGN_KEY = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

let server: TestServer;
let client: Countersign;
let tenantId: string;
let token: string;
let decision: PromotionDecision;
let decisionKey: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  client = new Countersign({ baseUrl: server.url, apiKey: await server.key(tenantId) });
  token = await mintKey(server.open.pool, tenantId, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
  for (let index = 0; index < 5; index += 1)
    await client.audit.append({ actor: 'ci', action: 'test.ran', subject: 'ünï', metadata: { index } });
  await client.evaluations.record({ name: 'nightly', agent_name: 'bot', pass_rate: 92.5 });
  decision = await client.governance.checkPromotion({ agent_name: 'bot' });
  decisionKey = Buffer.from(deriveDecisionKey(server.open.secrets.masterSecret, tenantId, decision.key_id)).toString('hex');
});

const get = async (path: string) => (await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })).text();
const json = async (path: string) => JSON.parse(await get(path));
const OTHER_KEY = 'ab'.repeat(32);

describe('a decision', () => {
  test('verifies as an object and as text, with the decision key in hex or as bytes', () => {
    expect(client.governance.verifyDecision(decision, { decisionKey })).toEqual({ ok: true });
    expect(verifyDecision(receiptOf(decision)!.text, { decisionKey })).toEqual({ ok: true });
    expect(verifyDecision(decision, { decisionKey: Buffer.from(decisionKey, 'hex') })).toEqual({ ok: true });
  });

  test('verifies with several keys when one of them signed it', () => {
    expect(verifyDecision(decision, { decisionKey: [OTHER_KEY, decisionKey] })).toEqual({ ok: true });
    expect(verifyDecision(decision, { decisionKey: [OTHER_KEY] })).toEqual({
      ok: false,
      fault: 'the signature is not by this key',
    });
  });

  test.each([
    ['a changed member', () => ({ ...decision, allowed: false }), /altered/],
    ['an additional member', () => ({ ...decision, comment: 'fine' }), /altered/],
    ['an undefined member', () => ({ ...decision, message: undefined }), /no canonical form/],
    ['another algorithm', () => ({ ...decision, signature_alg: 'none' }), /signature_alg/],
    ['truncated JSON', () => '{"allowed":true', /not JSON/],
    ['a list instead of an object', () => [decision], /not a decision/],
    ['a repeated member', () => JSON.stringify(decision).replace('{', '{"allowed":true,'), /twice|already/],
  ])('is rejected: %s', (_, altered, fault) => {
    expect(verifyDecision(altered(), { decisionKey })).toEqual({ ok: false, fault: expect.stringMatching(fault) });
  });

  test('cannot be verified with a malformed key or without a key: an error is thrown', () => {
    expect(() => verifyDecision(decision, { decisionKey: 'secret' })).toThrow(/64 hex digits/);
    expect(() => verifyDecision(decision, { decisionKey: [] })).toThrow(/needs a decisionKey/);
  });
});

describe('a decision with an attestation', () => {
  test('verifies with public keys, but not after a change or with a malformed or different attestation', async () => {
    const attested = await client.governance.checkPromotion({ agent_name: 'bot' }, { attestation: true });
    const attestation = receiptOf(attested)!.headers['countersign-attestation']!;
    const publicKeys = await json('/.well-known/jwks.json');
    expect(verifyDecision(attested, { attestation, publicKeys })).toEqual({ ok: true });
    expect(verifyDecision(receiptOf(attested)!.text, { attestation, publicKeys })).toEqual({ ok: true });
    const envelope = await json(`/api/ledger/decisions/${attested.decision_id}/attestation`);
    expect(verifyDecision(attested, { attestation: envelope, publicKeys })).toEqual({ ok: true });
    for (const [altered, by] of [
      [{ ...attested, allowed: false }, attestation],
      [{ ...attested, allowed: false }, envelope],
      [{ ...attested, response_sha256: decision.response_sha256 }, envelope],
      [decision, attestation],
      [decision, envelope],
      [attested, 'none'],
    ])
      expect(verifyDecision(altered, { attestation: by, publicKeys })).toMatchObject({ ok: false });
    expect(receiptOf(decision)!.headers['countersign-attestation']).toBeUndefined();
  });
});

describe('an attestation', () => {
  test('verifies with the public keys of the instance and contains the decision; after a change it is rejected', async () => {
    const envelope = await json(`/api/ledger/decisions/${decision.decision_id}/attestation`);
    const keys = await json('/.well-known/jwks.json');
    expect(client.governance.verifyAttestation(envelope, keys)).toEqual({ ok: true, decision, keyId: keys.keys[0].kid });
    expect(verifyAttestation(JSON.stringify(envelope), keys)).toMatchObject({ ok: true });
    const payload = Buffer.from(Buffer.from(envelope.payload, 'base64').toString().replace('92.5', '99.5')).toString('base64');
    expect(verifyAttestation({ ...envelope, payload }, keys)).toEqual({
      ok: false,
      fault: 'none of the known keys has signed it',
    });
    expect(verifyAttestation('{', keys)).toMatchObject({ ok: false });
  });

  test('in the header Countersign-Attestation verifies only together with its decision', async () => {
    const attested = await client.governance.checkPromotion({ agent_name: 'bot' }, { attestation: true });
    const { headers, text } = receiptOf(attested)!;
    const header = headers['countersign-attestation']!;
    const keys = await json('/.well-known/jwks.json');
    const genuine = { ok: true, decision: attested, keyId: keys.keys[0].kid };
    expect(verifyAttestation(header, keys, attested)).toEqual(genuine);
    expect(client.governance.verifyAttestation(header, keys, text)).toEqual(genuine);
    expect(verifyAttestation(header, keys)).toEqual({ ok: false, fault: expect.stringContaining('give the decision too') });
    const envelope = await json(`/api/ledger/decisions/${attested.decision_id}/attestation`);
    expect(verifyAttestation(envelope, keys, attested)).toEqual(genuine);
    for (const other of [decision, { ...attested, allowed: false }, null as never, '[]', '{'])
      for (const attestation of [header, envelope])
        expect(verifyAttestation(attestation, keys, other)).toMatchObject({ ok: false });
    for (const other of [null as never, [], '[]', '7'])
      expect(verifyAttestation(envelope, keys, other)).toEqual({ ok: false, fault: 'the decision is not a JSON object' });
    expect(verifyAttestation(`${header}, x`, keys, attested)).toMatchObject({ ok: false });
  });

  test('is rejected if the text of the decision has a repeated member, because other programs may read the first one', async () => {
    const envelope = await json(`/api/ledger/decisions/${decision.decision_id}/attestation`);
    const keys = await json('/.well-known/jwks.json');
    const repeated = JSON.stringify(decision).replace('{', '{"allowed":false,');
    const fault = expect.stringContaining('"allowed" is given twice');
    expect(verifyAttestation(envelope, keys, repeated)).toEqual({ ok: false, fault });
    expect(verifyDecision(repeated, { publicKeys: keys, attestation: envelope })).toEqual({ ok: false, fault });
  });

  test('verifies a decision if the attestation is the text of the envelope', async () => {
    const attestation = await get(`/api/ledger/decisions/${decision.decision_id}/attestation`);
    const publicKeys = await json('/.well-known/jwks.json');
    expect(verifyDecision(decision, { publicKeys, attestation })).toEqual({ ok: true });
    expect(verifyDecision({ ...decision, allowed: false }, { publicKeys, attestation })).toMatchObject({ ok: false });
    expect(verifyDecision({ ...decision, response_sha256: 'x' }, { publicKeys, attestation })).toMatchObject({ ok: false });
  });

  test('is rejected if its key was retired before the decision', async () => {
    const envelope = await json(`/api/ledger/decisions/${decision.decision_id}/attestation`);
    const { keys } = await json('/.well-known/jwks.json');
    const keysRetiredAt = (end: unknown) => ({ keys: [{ ...keys[0], retired_at: end }] });
    const millisecondBefore = new Date(Date.parse(decision.timestamp) - 1).toISOString();
    const tooLate = { ok: false, fault: 'the key that signed it was retired before the decision' };
    expect(verifyAttestation(envelope, keysRetiredAt(millisecondBefore))).toEqual(tooLate);
    expect(verifyAttestation(envelope, keysRetiredAt(decision.timestamp))).toMatchObject({ ok: true });
    const publicKeys = keysRetiredAt(millisecondBefore);
    expect(verifyDecision(decision, { attestation: envelope, publicKeys })).toEqual(tooLate);
    const foreignKey = { ...FOREIGN_KEY, retired_at: millisecondBefore };
    expect(verifyAttestation(envelope, { keys: [foreignKey, ...keys] })).toMatchObject({ ok: true });
  });

  test('is rejected with a key of another service; without an Ed25519 key, an error is thrown', async () => {
    const envelope = await json(`/api/ledger/decisions/${decision.decision_id}/attestation`);
    expect(verifyAttestation(envelope, { keys: [FOREIGN_KEY] })).toMatchObject({ ok: false });
    expect(() => verifyAttestation(envelope, { keys: [{ kty: 'RSA' }] })).toThrow(/no Ed25519 key/);
  });

  test.each<[string, (key: { kid: string }) => unknown[], RegExp]>([
    ['a key twice', (key) => [key, key], /is listed twice/],
    ['a key twice, once without kid', ({ kid, ...key }) => [key, { ...key, kid }], /is listed twice/],
    ['a wrong kid', (key) => [key, { ...FOREIGN_KEY, kid: key.kid }], /has the kid/],
    ['a time of retirement that is no instant', (key) => [{ ...key, retired_at: 'soon' }], /retired_at/],
    ['a time of retirement that is null', (key) => [{ ...key, retired_at: null }], /retired_at/],
    ['an element that is no object', (key) => [key, null], /not an object/],
    [
      'a key that its predecessor in the list did not sign',
      () => [succession.predecessor, succession.signed_by_another],
      /is not by its predecessor/,
    ],
  ])('is not verified with a list of keys that contains %s', async (_what, list, why) => {
    const envelope = await json(`/api/ledger/decisions/${decision.decision_id}/attestation`);
    const { keys } = await json('/.well-known/jwks.json');
    const publicKeys = { keys: list(keys[0]) as object[] };
    expect(() => verifyAttestation(envelope, publicKeys)).toThrow(why);
    expect(() => verifyDecision(decision, { publicKeys, attestation: envelope })).toThrow(ConfigurationError);
  });
});

describe('an export', () => {
  test('verifies as a text, in chunks of 7 bytes and as the body of a response', async () => {
    const text = await get('/api/ledger/audit/entries');
    const whole = {
      ok: true,
      tenantId,
      entries: 5,
      headsMet: 0,
      timesChecked: true,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
    };
    expect(await client.audit.verifyLedger(text)).toEqual(whole);
    const chunks = function* () {
      for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
    };
    const bytes = Buffer.from(text);
    expect(await verifyLedger(chunks(), { tenantId })).toEqual(whole);
    expect(await verifyLedger(text, { tenantId: tenantId.toUpperCase() })).toEqual(whole);
    await expect(verifyLedger(text, { tenantId: 'acme' })).rejects.toThrow('tenantId is not a UUID: "acme"');
    const response = await fetch(`${server.url}/api/ledger/audit/entries`, { headers: { authorization: `Bearer ${token}` } });
    expect(await verifyLedger(response.body!)).toEqual(whole);
  });

  test('without rows is rejected, unless a kept head shows that the log is empty', async () => {
    for (const emptyExport of ['', [], new Response('').body ?? []])
      expect(await verifyLedger(emptyExport)).toEqual({
        ok: false,
        entries: 0,
        seq: undefined,
        fault: expect.stringContaining('no rows'),
        misfit: false,
      });
    const root = Buffer.from(nodeSha256(Buffer.alloc(0))).toString('base64');
    const empty = { log: 'decisions' as const, heads: [`decisions;size=0;root=:${root}:`] };
    expect(await verifyLedger('', empty)).toMatchObject({ ok: true, entries: 0 });
  });

  test('is rejected, with the number of the first row that is altered, missing or of another workspace', async () => {
    const text = await get('/api/ledger/audit/entries');
    const altered = text.replace('"index":2', '"index":7');
    expect(await verifyLedger(altered)).toMatchObject({
      ok: false,
      entries: 2,
      seq: 3,
      fault: expect.stringContaining('altered'),
    });
    const lines = text.split('\n');
    expect(await verifyLedger([lines[0]!, '\n', lines[2]!])).toMatchObject({ ok: false, seq: 2 });
    expect(await verifyLedger(text, { tenantId: decision.decision_id })).toMatchObject({ ok: false, seq: 1 });
  });

  test('without its last row verifies alone, but not with a kept checkpoint and head; a forged checkpoint is rejected', async () => {
    const text = await get('/api/ledger/audit/entries');
    const checkpoint = await get('/api/ledger/audit/checkpoint');
    const publicKeys = await get('/.well-known/jwks.json');
    const head = receiptOf(decision)!.headers['countersign-checkpoint']!;
    const kept = { checkpoints: [checkpoint], publicKeys, heads: [head] };
    expect(await verifyLedger(text, kept)).toMatchObject({ ok: true });
    const shortenedText = text.split('\n').slice(0, 4).join('\n');
    expect(await verifyLedger(shortenedText)).toMatchObject({ ok: true, entries: 4 });
    expect(await verifyLedger(shortenedText, kept)).toMatchObject({ ok: false, fault: expect.stringContaining('cut off') });
    const forgedCheckpoint = checkpoint.replace('\n5\n', '\n4\n');
    expect(await verifyLedger(text, { ...kept, checkpoints: [forgedCheckpoint] })).toMatchObject({ ok: false });
    await expect(verifyLedger(text, { checkpoints: [checkpoint] })).rejects.toThrow(/publicKeys/);
  });

  test('of the decision log verifies', async () => {
    const text = await get('/api/ledger/decisions/entries');
    const entries = text.trim().split('\n').length;
    expect(await verifyLedger(text, { log: 'decisions' })).toMatchObject({ ok: true, entries });
  });
});

describe('cryptography of the client', () => {
  test('computes the same digests as the server', () => {
    const key = Uint8Array.from({ length: 32 }, (_, index) => index);
    for (const text of ['', 'abc', 'ünï\u{1f600}', 'x'.repeat(1000)]) {
      expect(digests.sha256Hex(text)).toBe(nodeDigests.sha256Hex(text));
      expect(digests.hmacSha256Hex(key, text)).toBe(nodeDigests.hmacSha256Hex(key, text));
      expect(Buffer.from(sha256(Buffer.from(text)))).toEqual(Buffer.from(nodeSha256(Buffer.from(text))));
    }
  });

  test('accepts a valid signature, rejects a wrong one, and agrees with the server on the identity point as a key', () => {
    const { publicKey: object, privateKey } = generateKeyPairSync('ed25519');
    const raw = new Uint8Array(object.export({ format: 'der', type: 'spki' }).subarray(-32));
    const signed = Buffer.from('signed');
    expect(verifyEd25519(raw, signed, sign(null, signed, privateKey))).toBe(true);
    expect(verifyEd25519(raw, Buffer.from('other'), sign(null, signed, privateKey))).toBe(false);
    const [publicKey, message, signature] = [new Uint8Array(32), new Uint8Array(3), new Uint8Array(64)];
    // The identity point is the key and R, and S is 0. Only permissive verifiers accept this signature. The client must do what Node does.
    publicKey[0] = signature[0] = 1;
    expect(verifyEd25519(publicKey, message, signature)).toBe(nodeVerify(publicKey, message, signature));
    expect(verifyEd25519(new Uint8Array(5), message, signature)).toBe(false);
  });
});
