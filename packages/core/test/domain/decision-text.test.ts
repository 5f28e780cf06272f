import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PromotionDecision } from '../../src/contract/promotion-check.ts';
import { CONDITIONS, DECISION_EVENTS, REASONS } from '../../src/contract/promotion-check.ts';
import { decisionFault, signDecision } from '../../src/domain/decision-signature.ts';
import { DecisionText, type OwnMembers, type SharedMembers } from '../../src/domain/decision-text.ts';
import { digests, hkdf } from '../node-digests.ts';

const key = hkdf(new Uint8Array(32), 'decision-text');
const text = fc.string({ unit: 'grapheme' });
const id = fc.oneof(fc.uuid(), text);
const rate = fc.option(fc.double({ min: 0, max: 100, noNaN: true }));
const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 });

/** Members in the order of the contract, which is the order in the response. */
const shared = fc.record({
  allowed: fc.boolean(),
  reason: fc.constantFrom(...REASONS),
  message: text,
  event: fc.constantFrom(...DECISION_EVENTS),
  evaluation_id: fc.option(id),
  agent_id: fc.option(id),
  policy: text,
  threshold: fc.double({ min: 0, max: 100, noNaN: true }),
  required_threshold: fc.double({ min: 0, max: 100, noNaN: true }),
  actual_threshold: rate,
  evaluation_age: rate,
  evaluation: fc.oneof(fc.constant({}), fc.record({ id, name: text, pass_rate: rate, agent_name: text })),
  checks: fc.array(
    fc.record({
      condition: fc.constantFrom(...CONDITIONS),
      passed: fc.boolean(),
      reason: fc.option(fc.constantFrom(...REASONS)),
      message: text,
    }),
  ),
  key_id: text,
  timestamp: text,
  tenant_id: id,
  evidence_sha256: hex,
  evidence_size: fc.nat(),
  harness_id: fc.option(id),
  max_age_hours: fc.nat(),
}) as fc.Arbitrary<SharedMembers>;

const anyOwnMembers: fc.Arbitrary<OwnMembers> = fc.record({
  decision_id: id,
  asked_by: text,
  nonce: fc.option(text, { nil: undefined }),
});

/** The whole decision, its members in the order of the contract. */
function wholeDecision(common: SharedMembers, { decision_id, asked_by, nonce }: OwnMembers) {
  const { key_id, timestamp, tenant_id, evidence_sha256, evidence_size, harness_id, max_age_hours, ...decided } = common;
  const evidence = { evidence_sha256, evidence_size, harness_id, max_age_hours };
  const signing = { decision_id, key_id, timestamp, tenant_id, asked_by, ...evidence };
  return { ...decided, ...signing, ...(nonce === undefined ? {} : { nonce }) };
}

describe('DecisionText', () => {
  test('writes the same text as signDecision, for any members', () => {
    fc.assert(
      fc.property(shared, fc.array(anyOwnMembers, { minLength: 1, maxLength: 3 }), (common, ownMembers) => {
        const writer = new DecisionText(common);
        for (const each of ownMembers) {
          const { json, responseSha256 } = writer.sign(each, key, digests);
          const expected = signDecision(wholeDecision(common, each), key, digests);
          expect(json).toBe(JSON.stringify(expected));
          expect(responseSha256).toBe(expected.response_sha256);
        }
      }),
    );
  });

  test('writes a decision that the verifier accepts, and rejects once it is altered', () => {
    const [sample] = fc.sample(shared, { numRuns: 1, seed: 1 });
    const tenant_id = '0190d9a2-7c1e-7d6b-9f5a-1c2d3e4f5a6b';
    const common = { ...sample!, timestamp: '2026-11-24T08:30:00.123Z', tenant_id };
    const { json } = new DecisionText(common).sign({ decision_id: 'one', asked_by: 'key:a' }, key, digests);
    const parsed = JSON.parse(json) as PromotionDecision & Record<string, unknown>;
    expect(decisionFault(parsed, key, digests)).toBeUndefined();
    expect(decisionFault({ ...parsed, allowed: !parsed.allowed }, key, digests)).toContain('was altered');
  });
});
