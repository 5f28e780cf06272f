import { describe, expect, test } from 'vitest';
import type { EvidenceEvent } from '../../src/domain/evidence-event.ts';
import { EvidenceState } from '../../src/domain/evidence-state.ts';
import { OTHERS_MAX } from '../../src/domain/promotion.ts';

const AGENT = '00000000-0000-7000-8000-000000000001';
const uuid = (number: number): string => `00000000-0000-7000-9000-${String(number).padStart(12, '0')}`;
const event = (seq: number, fact: object): EvidenceEvent =>
  ({
    version: 1,
    tenant_id: uuid(0),
    seq,
    recorded_at: '2026-11-20T12:00:00.000Z',
    recorded_by: 'key:000000000000',
    agent_id: AGENT,
    ...fact,
  }) as EvidenceEvent;

/** An evaluation without a suite: its name and its harness determine the series. */
interface SentEvaluation {
  name: string;
  harnessId: string | null;
}

const evaluationRecorded = (seq: number, { name, harnessId }: SentEvaluation): EvidenceEvent =>
  event(seq, {
    action: 'evaluation.recorded',
    category: null,
    document_sha256: '0'.repeat(64),
    evaluated_at: null,
    evaluation_id: uuid(seq),
    harness_id: harnessId,
    name,
    pass_rate: 90,
    status: 'passing',
    suite: null,
  });

const stateAfter = (sent: readonly SentEvaluation[]): EvidenceState => {
  const state = new EvidenceState();
  state.apply(event(1, { action: 'agent.registered', agent_name: 'bot' }));
  sent.forEach((each, index) => {
    state.apply(evaluationRecorded(index + 2, each));
  });
  return state;
};

describe('the evidence state of an agent with many series', () => {
  const sent = Array.from({ length: 2_000 }, (_, at): SentEvaluation => {
    const number = (at * 48_271) % 2_147_483_647;
    return {
      name: `evaluation ${number % (at % 3 === 0 ? 4 : 40)}`,
      harnessId: number % 5 === 0 ? uuid(1_000_000 + (number % 3)) : null,
    };
  });

  /**
   * The expected names, computed from the whole history: one for each of the newest series, at most OTHERS_MAX + 1, the newest first.
   * The series of the evaluation that the check uses is left out.
   */
  const expectedOthers = (count: number, harnessId: string | null): string[] => {
    const history = sent.slice(0, count);
    const latestIndex = history.findLastIndex((each) => harnessId === null || each.harnessId === harnessId);
    if (latestIndex < 0) return [];
    const series = new Map(history.map((each, index) => [JSON.stringify(each), index]));
    const newestFirst = [...series.values()].toSorted((left, right) => right - left).filter((index) => index !== latestIndex);
    return newestFirst.slice(0, OTHERS_MAX + 1).map((index) => history[index]!.name);
  };

  test.each([1, 2, 6, 7, 8, 9, 50, 500, 2_000])(
    'after %i evaluations, the evidence names the latest evaluation of each of the newest other series',
    (count) => {
      const state = stateAfter(sent.slice(0, count));
      for (const harness_id of [null, uuid(1_000_000), uuid(1_000_001)]) {
        const { evidence } = state.find({ agent_id: AGENT, agent_name: null, harness_id });
        expect(evidence.other_evaluations.map(({ name }) => name)).toEqual(expectedOthers(count, harness_id));
      }
    },
  );

  test('keeps a limited number of evaluations, however many names they have', () => {
    const names = Array.from(
      { length: 10_000 },
      (_, number): SentEvaluation => ({ name: `evaluation ${number}`, harnessId: null }),
    );
    expect(stateAfter(names).evaluationCount).toBeLessThan(OTHERS_MAX + 5);
  });

  test('keeps the latest evaluation of every harness, and a limited number of other evaluations', () => {
    const harnesses = Array.from(
      { length: 100 },
      (_, number): SentEvaluation => ({ name: 'same', harnessId: uuid(1_000_000 + number) }),
    );
    const { evaluationCount } = stateAfter([...harnesses, ...harnesses]);
    expect(evaluationCount).toBeGreaterThanOrEqual(100);
    expect(evaluationCount).toBeLessThan(100 + OTHERS_MAX + 5);
  });
});
