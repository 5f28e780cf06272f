import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { readTrustFile } from '../../src/domain/trust-file.ts';
import { sha256, verifyEd25519 } from '../node-digests.ts';

const checks = { sha256, verify: verifyEd25519 };
const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const workspace = { id: '0198a1c2-0000-7000-8000-000000000001', name: 'acme' };
const fileOf = (...keys: unknown[]) => JSON.stringify({ version: 1, workspace, url: 'https://countersign.example.com', keys });

test.each([[[null]], [[7]], [['text']], [[{ kty: 'RSA' }]], [[{ kty: 'OKP', crv: 'Ed25519', x }]]])(
  'a trust file whose keys are %j is rejected with the reason',
  (keys) => {
    expect(readTrustFile(fileOf(...keys), checks)).toEqual({
      fault: 'is not a trust file: `keys` contains an element that is not an Ed25519 JWK with `note_key`',
    });
  },
);
