import { describe, expect, test } from 'vitest';
import { decisionFault } from '../../src/domain/decision-signature.ts';
import { evidenceFault } from '../../src/domain/evidence-verifier.ts';
import { digests } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

/** One case of vectors/evidence.json. */
interface GoldenEvidence {
  what: string;
  evidence: string;
  response: Record<string, unknown>;
}

const golden = vectors('evidence') as { decision_key_hex: string; cases: GoldenEvidence[] };

describe('evidence of a decision', () => {
  test.each(golden.cases)('leads to the verdict of the independent implementation: $what', ({ evidence, response }) => {
    expect(decisionFault(response, Buffer.from(golden.decision_key_hex, 'hex'), digests)).toBeUndefined();
    expect(evidenceFault(response, evidence, digests)).toBeUndefined();
  });

  test('contradicts a decision in which a member that follows from the evidence was changed', () => {
    for (const { evidence, response } of golden.cases) {
      for (const name of ['allowed', 'reason', 'event', 'evaluation_id', 'threshold', 'evaluation_age', 'checks', 'tenant_id']) {
        const fault = evidenceFault({ ...response, [name]: 'changed' }, evidence, digests);
        expect(fault, name).toMatch(new RegExp(`^${name} does not follow`));
      }
    }
  });

  test('contradicts a decision that states another harness or another age limit than the request, or leaves one of them out', () => {
    const casesWithRequest = golden.cases.filter(({ response }) => 'harness_id' in response);
    expect(casesWithRequest).toHaveLength(4);
    for (const { evidence, response } of casesWithRequest) {
      for (const [name, value] of [
        ['harness_id', '0190d9a2-7c1e-7d6b-9f5a-1c2d3e4f5a6b'],
        ['max_age_hours', 24],
      ] as const) {
        const { [name]: _, ...withoutMember } = response;
        for (const decision of [{ ...response, [name]: value }, withoutMember])
          expect(evidenceFault(decision, evidence, digests)).toMatch(new RegExp(`^${name} does not follow`));
      }
    }
  });

  test('is not compared with the message of the decision', () => {
    const [{ evidence, response }] = golden.cases as [GoldenEvidence];
    expect(evidenceFault({ ...response, message: 'Other words.' }, evidence, digests)).toBeUndefined();
  });

  test('is rejected when its version or policy is unknown or its form is wrong', () => {
    const [{ evidence, response }] = golden.cases as [GoldenEvidence];
    for (const [text, why] of [
      [evidence.replace('"version":1', '"version":2'), /version 2/],
      [evidence.replace('evaluation/v1', 'evaluation/v2'), /policy/],
      [evidence.replace('"agent":{', '"agent" :{'), /canonical/],
      [evidence.replace('"open_recertifications":0,', ''), /open_recertifications/],
      [evidence.replace('"version":1', '"version":1,"waiver":true'), /waiver/],
      [evidence.replace(/("read_at":".{17})\d\d/, '$199'), /read_at/],
    ] as const)
      expect(evidenceFault({ ...response, evidence_sha256: digests.sha256Hex(text) }, text, digests)).toMatch(why);
  });
});
