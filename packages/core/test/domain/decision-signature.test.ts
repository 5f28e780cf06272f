import { createHmac, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { decisionFault, decisionKeyInfo, signDecision } from '../../src/domain/decision-signature.ts';
import { digests, hkdf } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

/** One case of vectors/decision.json. */
interface GoldenDecision {
  what: string;
  key_id: string;
  decision_key_hex: string;
  D: object;
  canonical: string;
  response_sha256: string;
  signature: string;
}

const golden = vectors('decision');
const master = new Uint8Array(Buffer.from(golden.master_secret_base64, 'base64'));

describe('decision signature', () => {
  test('HMAC-SHA256 and HKDF-SHA256 produce the outputs of RFC 4231 and RFC 5869', () => {
    for (const { key, data, hmac_sha256 } of vectors('hmac-rfc4231').cases) {
      expect(createHmac('sha256', Buffer.from(key, 'hex')).update(Buffer.from(data, 'hex')).digest('hex')).toBe(hmac_sha256);
    }
    for (const { ikm, salt, info, length, okm } of vectors('hkdf-rfc5869').cases) {
      const derived = hkdfSync('sha256', Buffer.from(ikm, 'hex'), Buffer.from(salt, 'hex'), Buffer.from(info, 'hex'), length);
      expect(Buffer.from(derived).toString('hex')).toBe(okm);
    }
  });

  test.each(golden.cases as GoldenDecision[])('matches the golden decision of the independent implementation: $what', (each) => {
    const key = hkdf(master, decisionKeyInfo(golden.tenant_id, each.key_id));
    expect(Buffer.from(key).toString('hex')).toBe(each.decision_key_hex);
    expect(canonicalJson(each.D)).toBe(each.canonical);
    const signed = signDecision(each.D, key, digests);
    expect(signed.response_sha256).toBe(each.response_sha256);
    expect(signed.signature).toBe(each.signature);
    expect(decisionFault({ ...signed }, key, digests)).toBeUndefined();
  });

  test('derives a different key for each tenant and key ID', () => {
    const key = (tenant: string, id: string) => Buffer.from(hkdf(master, decisionKeyInfo(tenant, id))).toString('hex');
    expect(new Set([key('a', 'dk-1'), key('a', 'dk-2'), key('b', 'dk-1')]).size).toBe(3);
  });

  test('rejects a decision with a changed, removed or added member, or signed by another key', () => {
    const key = hkdf(master, 'one');
    const signed: Record<string, unknown> = { ...signDecision(golden.cases[0].D, key, digests) };
    for (const name of Object.keys(signed)) {
      expect(decisionFault({ ...signed, [name]: 'changed' }, key, digests), name).toBeDefined();
      const { [name]: _, ...withoutMember } = signed;
      expect(decisionFault(withoutMember, key, digests), `without ${name}`).toBeDefined();
    }
    expect(decisionFault({ ...signed, extra: 1 }, key, digests)).toContain('was altered');
    expect(decisionFault(signed, hkdf(master, 'two'), digests)).toBe('the signature is not by this key');
  });

  test('rejects a signature with one changed digit, and a malformed signature', () => {
    const key = hkdf(master, 'one');
    const signed = signDecision({ allowed: true }, key, digests);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 63 }), fc.constantFrom(...'0123456789abcdef'), (at, digit) => {
        fc.pre(signed.signature[at] !== digit);
        const signature = signed.signature.slice(0, at) + digit + signed.signature.slice(at + 1);
        expect(decisionFault({ ...signed, signature }, key, digests)).toBeDefined();
      }),
    );
    for (const signature of ['', signed.signature.slice(1), signed.signature + '0', null, 7]) {
      expect(decisionFault({ ...signed, signature }, key, digests)).toBeDefined();
    }
  });
});
