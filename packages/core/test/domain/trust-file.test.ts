import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { noteVerifierKey } from '../../src/domain/signed-note.ts';
import { readTrustFile } from '../../src/domain/trust-file.ts';
import { sha256, verifyEd25519 } from '../node-digests.ts';

const checks = { sha256, verify: verifyEd25519 };
const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const publicKey = new Uint8Array(Buffer.from(x, 'base64url'));
const jwk = { kty: 'OKP', crv: 'Ed25519', x, note_key: noteVerifierKey({ name: 'countersign/one', publicKey }, sha256) };
const workspace = { id: '0198a1c2-0000-7000-8000-000000000001', name: 'acme' };
const readWithKeys = (...keys: unknown[]) =>
  readTrustFile(JSON.stringify({ version: 1, workspace, url: 'https://countersign.example.com', keys }), checks);

describe('a trust file', () => {
  test('with an Ed25519 key is read', () => {
    expect(readWithKeys(jwk)).toMatchObject({ workspace, keys: [{ x, retiredAt: undefined }] });
  });

  test.each([[null], [7], ['text'], [{ kty: 'RSA' }], [{ kty: 'OKP', crv: 'Ed25519', x }]])(
    'is rejected if one of its keys is %j, and the fault says what a key must be',
    (other) => {
      const fault = 'is not a trust file: `keys` contains an element that is not an Ed25519 JWK with `note_key`';
      expect([readWithKeys(other), readWithKeys(other, jwk), readWithKeys(jwk, other)]).toEqual([
        { fault },
        { fault },
        { fault },
      ]);
    },
  );

  test('is rejected if it has no version or an unknown version, and the fault gives this reason', () => {
    const readVersion = (version?: number) => readTrustFile(JSON.stringify({ version, workspace, keys: [jwk] }), checks);
    expect(readVersion()).toEqual({ fault: 'is not a trust file: it has no `version`' });
    expect(readVersion(2)).toHaveProperty('fault', expect.stringContaining('it has version 2'));
  });
});
