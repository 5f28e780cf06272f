import { attestDecision, publicJwk } from '@countersign/core/domain/attestation';
import { signDecision } from '@countersign/core/domain/decision-signature';
import { describe, expect, test } from 'vitest';
import { keyPair } from '../../core/test/node-digests.ts';
import { digests, sha256 } from '../src/proof/browser-cryptography.ts';
import { checkDecision } from '../src/proof/check-decision.ts';

const { publicKey, sign } = keyPair(new Uint8Array(32).fill(1));
const keyid = publicJwk(publicKey, sha256).kid;
const keys = { attestation: [{ keyid, publicKey }] };
const decisionKey = new Uint8Array(32).fill(2);
const decision = signDecision(
  {
    allowed: false,
    reason: 'no_recent_evaluation',
    decision_id: '0198f1c2-ac30-7e77-8b42-8c3d4e5f6071',
    key_id: 'dk-1',
    timestamp: '2026-11-20T12:00:00.000Z',
  },
  decisionKey,
  digests,
);
const envelope = attestDecision(decision, [{ keyid, sign }]);
const check = (document: string) => checkDecision(document, { envelope, keys, evidence: '{}', decisionKey });
const text = JSON.stringify(decision);

describe('the check of a pasted decision', () => {
  test('accepts the hash, the attestation and the HMAC of the signed decision', () => {
    const { hash, attestation, hmac } = check(text);
    expect([hash.passed, attestation.passed, hmac?.passed]).toEqual([true, true, true]);
  });

  test('rejects the hash, the attestation and the HMAC of a changed decision', () => {
    const { hash, attestation, hmac } = check(text.replace('false', 'true'));
    expect([hash.passed, attestation.passed, hmac?.passed]).toEqual([false, false, false]);
  });

  test.each([
    ['is nested very deeply', `{"extra":${'['.repeat(20_000)}${']'.repeat(20_000)},${text.slice(1)}`, 'nested deeper than'],
    ['has a repeated member', `{"allowed":true,${text.slice(1)}`, 'allowed'],
    ['has half of a surrogate pair', `{"extra":"\\ud800",${text.slice(1)}`, '/extra'],
    ['is a list', '[]', 'not a JSON object'],
    ['is not JSON', 'decision', 'not JSON'],
  ])('rejects a document that %s, with the reason', (_what, document, reason) => {
    const { hash, attestation, evidence, hmac } = check(document);
    const finding = { passed: false, detail: expect.stringContaining(reason) };
    expect({ hash, attestation, evidence, hmac }).toEqual({ hash: finding, attestation: finding });
  });
});
