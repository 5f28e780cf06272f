import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CONDITIONS, REASONS } from '../../src/contract/promotion-check.ts';
import { decidePromotion, EVENT_OF_REASON, type Evidence, requestedAgent, roundedHours } from '../../src/domain/promotion.ts';

const criteria = { agentLabel: 'bot', minPassRate: 80, maxAgeHours: 72 };
const evaluation = {
  id: '0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f',
  name: 'nightly',
  status: 'passing' as const,
  pass_rate: 90,
  category: null,
  harness_id: null,
  recorded_at: '2026-11-20T08:15:00.000Z',
  recorded_by: 'key:5f0c2a9be671',
  agent_name: 'bot',
  ageHours: 1,
};
const good: Evidence = {
  agent: { id: 'a', name: 'bot', isHighRisk: false },
  evaluation,
  approval: null,
  openRecertifications: 0,
  others: [],
};
const highRisk = { id: 'a', name: 'bot', isHighRisk: true };

describe('promotion rules', () => {
  test('requestedAgent returns the requested name of an unknown agent, and null for a known one', () => {
    const unknown = { ...good, agent: null, evaluation: null };
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), (agentLabel) => {
        const { checks } = decidePromotion(unknown, { ...criteria, agentLabel });
        expect(requestedAgent({ agent_id: null, checks })).toBe(agentLabel);
      }),
    );
    expect(requestedAgent({ agent_id: 'a', checks: decidePromotion(good, criteria).checks })).toBeNull();
    expect(requestedAgent({ agent_id: null, checks: [] })).toBeNull();
  });

  test('allow when all conditions are met', () => {
    expect(decidePromotion(good, criteria)).toMatchObject({
      allowed: true,
      reason: 'all_conditions_met',
      event: 'promotion.allowed',
    });
  });

  test('name the requested harness when it has no evaluation', () => {
    const none = { ...good, evaluation: null };
    expect(decidePromotion(none, { ...criteria, harnessId: 'h-1' }).message).toBe(
      'bot has no evaluation of the harness h-1; run one and record its result.',
    );
    expect(decidePromotion(none, { ...criteria, harnessId: null }).message).toBe(
      'bot has no evaluation; run one and record its result.',
    );
  });

  test.each([
    ['an unknown agent', { ...good, agent: null, evaluation: null }, 'no_recent_evaluation'],
    ['no evaluation', { ...good, evaluation: null }, 'no_recent_evaluation'],
    ['an evaluation that is too old', { ...good, evaluation: { ...evaluation, ageHours: 72.0001 } }, 'no_recent_evaluation'],
    ['an evaluation from the future', { ...good, evaluation: { ...evaluation, ageHours: -0.0001 } }, 'no_recent_evaluation'],
    ['an age that is NaN', { ...good, evaluation: { ...evaluation, ageHours: Number.NaN } }, 'no_recent_evaluation'],
    ['a failing evaluation', { ...good, evaluation: { ...evaluation, status: 'failing' } }, 'evaluation_not_passing'],
    ['a running evaluation', { ...good, evaluation: { ...evaluation, status: 'running' } }, 'evaluation_not_passing'],
    [
      'a pass rate below the threshold',
      { ...good, evaluation: { ...evaluation, pass_rate: 79.99 } },
      'pass_rate_below_threshold',
    ],
    ['no pass rate', { ...good, evaluation: { ...evaluation, pass_rate: null } }, 'pass_rate_below_threshold'],
    ['a high-risk agent without an approval', { ...good, agent: highRisk }, 'approval_required'],
    ['a high-risk agent with a pending approval', { ...good, agent: highRisk, approval: 'pending' }, 'approval_required'],
    ['a high-risk agent with a rejected approval', { ...good, agent: highRisk, approval: 'rejected' }, 'approval_rejected'],
    ['an open re-certification', { ...good, openRecertifications: 1 }, 'recertification_open'],
  ] as [string, Evidence, string][])('block for %s', (_name, evidence, reason) => {
    expect(decidePromotion(evidence, criteria)).toMatchObject({ allowed: false, reason });
  });

  test.each([
    [0.0002, 'less than a minute old, the limit is 72 hours'],
    [0.0172, '1 minute old'],
    [0.9999, '59 minutes old'],
    [1, '1 hour old'],
    [1.25, '1.25 hours old'],
    [72.0001, '72.0001 hours old, the limit is 72 hours'],
  ])('format an age of %d hours for people', (ageHours, words) => {
    const [recent] = decidePromotion({ ...good, evaluation: { ...evaluation, ageHours } }, criteria).checks;
    expect(recent?.message).toContain(words);
  });

  test('compare and display the same rounded age', () => {
    const ageHours = 1 + 0.1 / 3600;
    const verdict = decidePromotion({ ...good, evaluation: { ...evaluation, ageHours } }, { ...criteria, maxAgeHours: 1 });
    expect([verdict.allowed, roundedHours(ageHours)]).toEqual([false, 1.0001]);
    expect(verdict.message).toContain('is 1.0001 hours old, the limit is 1 hour;');
    const future = decidePromotion({ ...good, evaluation: { ...evaluation, ageHours: -1e-9 } }, criteria);
    expect([future.allowed, roundedHours(-1e-9)]).toEqual([false, -0.0001]);
  });

  test('round ages away from zero to 4 decimals, and keep ages that have at most 4', () => {
    expect([0, 1.1, 71.9999, 72, 72.00001, 0.0004, -0.00001].map(roundedHours)).toEqual([
      0, 1.1, 71.9999, 72, 72.0001, 0.0004, -0.0001,
    ]);
    expect(roundedHours(Number.NaN)).toBeNaN();
    fc.assert(
      fc.property(fc.integer({ min: -87_600_000, max: 87_600_000 }), (tenThousandths) => {
        expect(roundedHours(tenThousandths / 10_000)).toBe(tenThousandths / 10_000);
      }),
    );
    fc.assert(
      fc.property(fc.double({ min: -8760, max: 8760, noNaN: true }), (hours) => {
        const rounded = Math.abs(roundedHours(hours));
        expect(rounded).toBeGreaterThanOrEqual(Math.abs(hours));
        expect(rounded - Math.abs(hours)).toBeLessThan(0.0001 + 1e-9);
        expect(String(rounded)).toMatch(/^\d+(\.\d{1,4})?$/);
      }),
    );
  });

  test('allow an age and a pass rate exactly at their limits, and a high-risk agent with an approval', () => {
    expect(decidePromotion({ ...good, evaluation: { ...evaluation, ageHours: 72, pass_rate: 80 } }, criteria).allowed).toBe(true);
    expect(decidePromotion({ ...good, agent: highRisk, approval: 'approved' }, criteria).allowed).toBe(true);
  });

  test('return four checks in order, and the reason and event of the first that fails, for any evidence', () => {
    const evidence = fc.record({
      agent: fc.option(fc.record({ id: fc.constant('a'), name: fc.constant('bot'), isHighRisk: fc.boolean() })),
      evaluation: fc.option(
        fc
          .record({
            ageHours: fc.double({ min: -2, max: 100 }),
            pass_rate: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
            status: fc.constantFrom('scheduled', 'running', 'passing', 'failing'),
          })
          .map((some) => ({ ...evaluation, ...some })),
      ),
      approval: fc.constantFrom(null, 'pending', 'approved', 'rejected'),
      openRecertifications: fc.nat(3),
      others: fc.constant([]),
    }) as fc.Arbitrary<Evidence>;
    fc.assert(
      fc.property(evidence, (some) => {
        const verdict = decidePromotion(some, criteria);
        const failed = verdict.checks.find(({ passed }) => !passed);
        expect(verdict.checks.map(({ condition }) => condition)).toEqual(CONDITIONS);
        expect(verdict.allowed).toBe(failed === undefined);
        expect(verdict.reason).toBe(failed?.reason ?? 'all_conditions_met');
        expect(verdict.event).toBe(EVENT_OF_REASON[verdict.reason]);
        expect(verdict.event === 'promotion.allowed').toBe(verdict.allowed);
        if (verdict.allowed) {
          expect(some.agent).not.toBeNull();
          expect(some.evaluation!.status).toBe('passing');
          expect(some.evaluation!.ageHours).toBeGreaterThanOrEqual(0);
        }
      }),
    );
    expect(Object.keys(EVENT_OF_REASON).sort()).toEqual([...REASONS].sort());
  });
});
