import { describe, expect, test } from 'vitest';
import { EventConflictError } from '../../src/domain/event-conflict.ts';
import { type EvidenceEvent, readEvidenceEvent } from '../../src/domain/evidence-event.ts';
import { EvidenceState } from '../../src/domain/evidence-state.ts';
import { verifyExport } from '../../src/domain/export-verifier.ts';
import { Frontier } from '../../src/domain/merkle-tree.ts';
import { digests, sha256 } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

const golden = vectors('evidence-events') as {
  events: { event: EvidenceEvent; leaf_data: string }[];
  root: string;
  questions: { size: number; asked: Parameters<EvidenceState['find']>[0]; evidence: object }[];
};
const events = golden.events.map(({ event }) => event);
const positionOf = (event: EvidenceEvent) => ({ seq: event.seq, tenantId: event.tenant_id });

describe('golden evidence log of the independent implementation', () => {
  test('has the leaf data and root that this implementation computes', () => {
    const tree = new Frontier(sha256);
    for (const { event, leaf_data } of golden.events) {
      expect(readEvidenceEvent(event, positionOf(event), digests)).toMatchObject({ hash: leaf_data });
      tree.append(Buffer.from(leaf_data, 'hex'));
    }
    expect(Buffer.from(tree.root()).toString('hex')).toBe(golden.root);
  });

  test('yields the golden evidence for each question when the log has the size that the question names', () => {
    const state = new EvidenceState();
    for (const event of events) {
      state.apply(event);
      for (const { asked, evidence } of golden.questions.filter(({ size }) => size === event.seq))
        expect(state.find(asked)).toEqual({ evidence, agentsDiffer: false });
    }
    expect(state.size).toBe(events.length);
  });

  test('is a valid export of the evidence log but not of another log, and is invalid with a gap', async () => {
    const lines = (values: unknown[]) =>
      async function* () {
        for (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`);
      };
    const whole = await verifyExport(lines(events)(), { digests, sha256 }, { log: 'evidence' });
    expect(whole).toMatchObject({ entries: events.length, firstBad: undefined });
    const other = await verifyExport(lines(events)(), { digests, sha256 }, { log: 'audit' });
    expect(other.firstBad).toMatchObject({ misfit: true, reason: expect.stringContaining('--log evidence') });
    const withGap = await verifyExport(
      lines([...events.slice(0, 4), ...events.slice(5)])(),
      { digests, sha256 },
      { log: 'evidence' },
    );
    expect(withGap.firstBad).toMatchObject({ seq: 5 });
  });
});

describe('evidence event', () => {
  const [registered] = events as [EvidenceEvent];

  test.each([
    ['of another version', { version: 2 }, /version 2/],
    ['of an unknown action', { action: 'agent.promoted' }, /action "agent\.promoted"/],
    ['of the action toString, the name of a method of every object', { action: 'toString' }, /action "toString"/],
    ['with an additional member', { note: 'x' }, /"note" is not a member/],
    ['with an agent ID in upper case', { agent_id: registered.agent_id.toUpperCase() }, /agent_id/],
    ['with a time without milliseconds', { recorded_at: '2026-11-20T12:00:01Z' }, /recorded_at/],
    ['of another tenant', { tenant_id: '00000000-0000-4000-8000-000000000000' }, /another tenant/],
    ['with another sequence number', { seq: 2 }, /seq is 2, expected 1/],
    ['with a lone surrogate', { agent_name: '\ud800' }, /no canonical form/],
  ])('%s is rejected', (_, change, why) => {
    expect(readEvidenceEvent({ ...registered, ...change }, positionOf(registered), digests)).toEqual({
      fault: expect.stringMatching(why),
    });
  });

  test.each(Object.keys(events[1]!))('without its member %s is rejected', (member) => {
    const { [member as keyof EvidenceEvent]: _, ...rest } = events[1]!;
    expect(readEvidenceEvent(rest, positionOf(events[1]!), digests)).toHaveProperty('fault');
  });
});

describe('evidence state', () => {
  test('rejects a wrong sequence number, an unknown agent and an agent or name registered twice', () => {
    const state = new EvidenceState();
    const apply = (event: EvidenceEvent) => () => state.apply(event);
    expect(apply(events[1]!)).toThrow(EventConflictError);
    expect(apply({ ...events[1]!, seq: 1 })).toThrow(/is not registered/);
    state.apply(events[0]!);
    expect(apply({ ...events[0]!, seq: 2 })).toThrow(/registered twice/);
    const sameName = { ...events[0]!, seq: 2, agent_id: events[4]!.agent_id };
    expect(apply(sameName)).toThrow(`${sameName.agent_id} is registered with the name of agent ${events[0]!.agent_id}`);
    expect(state.size).toBe(1);
  });

  test('reports a mismatch only if the given ID and the given name belong to different agents or only one of them is known', () => {
    const state = new EvidenceState();
    for (const event of events) state.apply(event);
    const [one, other] = [...state.agents()];
    const find = (agent_id: string | null, agent_name: string | null) =>
      state.find({ agent_id, agent_name, harness_id: null }).agentsDiffer;
    expect([find(one!.id, one!.name), find(one!.id, null), find(null, one!.name), find(null, 'nobody')]).toEqual(
      Array(4).fill(false),
    );
    expect([find(one!.id, other!.name), find(one!.id, 'nobody'), find(events[8]!.tenant_id, one!.name)]).toEqual(
      Array(3).fill(true),
    );
  });
});
