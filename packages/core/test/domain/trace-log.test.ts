import { describe, expect, test } from 'vitest';
import { verifyExport } from '../../src/domain/export-verifier.ts';
import { Frontier } from '../../src/domain/merkle-tree.ts';
import { readTraceEvent, type TraceEvent } from '../../src/domain/trace-event.ts';
import { digests, sha256 } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

const golden = vectors('trace-events') as { events: { event: TraceEvent; leaf_data: string }[]; root: string };
const events = golden.events.map(({ event }) => event);
const positionOf = (event: TraceEvent) => ({ seq: event.seq, tenantId: event.tenant_id });

describe('golden trace log of the independent implementation', () => {
  test('has the leaf data and root that this implementation computes', () => {
    const tree = new Frontier(sha256);
    for (const { event, leaf_data } of golden.events) {
      expect(readTraceEvent(event, positionOf(event), digests)).toMatchObject({ hash: leaf_data });
      tree.append(Buffer.from(leaf_data, 'hex'));
    }
    expect(Buffer.from(tree.root()).toString('hex')).toBe(golden.root);
  });

  test('is a valid export of the trace log, and not of another log', async () => {
    async function* lines() {
      for (const event of events) yield Buffer.from(`${JSON.stringify(event)}\n`);
    }
    const whole = await verifyExport(lines(), { digests, sha256 }, { log: 'traces' });
    expect(whole).toMatchObject({ entries: 3, firstBad: undefined, contradiction: undefined });
    const other = await verifyExport(lines(), { digests, sha256 }, { log: 'evidence' });
    expect(other.firstBad).toMatchObject({ misfit: true, reason: expect.stringContaining('--log traces') });
  });

  test('is invalid if its times step back and the clock corrections of the audit ledger do not allow that', async () => {
    async function* lines() {
      for (const event of events)
        yield Buffer.from(`${JSON.stringify({ ...event, recorded_at: `2026-11-20T12:00:0${3 - event.seq}.500Z` })}\n`);
    }
    const { firstBad } = await verifyExport(lines(), { digests, sha256 }, { log: 'traces', corrections: [] });
    expect(firstBad).toMatchObject({ seq: 2, reason: expect.stringContaining('recorded_at') });
  });
});

describe('trace event', () => {
  const [first] = events as [TraceEvent];
  const [submission] = first.submissions;

  test.each([
    ['of another version', { version: 2 }, /version 2/],
    ['of an unknown action', { action: 'traces.erased' }, /action of the event is malformed/],
    ['with an additional member', { note: 'x' }, /"note" is not a member of the event/],
    ['of another tenant', { tenant_id: '00000000-0000-4000-8000-000000000000' }, /another tenant/],
    ['with another sequence number', { seq: 2 }, /seq is 2, expected 1/],
    ['without submissions', { submissions: [] }, /submissions of the event is malformed/],
    ['with a string as a submission', { submissions: ['x'] }, /submission 1 is not an object/],
    ['with a malformed submission', { submissions: [submission, { ...submission, number: 0 }] }, /number of submission 2/],
    [
      'with an additional member in a submission',
      { submissions: [{ ...submission, spans: [] }] },
      /"spans" is not a member of submission 1/,
    ],
    ['with a lone surrogate', { submissions: [{ ...submission, trace_id: '\ud800' }] }, /no canonical form/],
  ])('%s is rejected', (_, change, why) => {
    expect(readTraceEvent({ ...first, ...change }, positionOf(first), digests)).toEqual({ fault: expect.stringMatching(why) });
  });

  test.each([null, [], 'x', 1])('that is %j is rejected', (value) => {
    expect(readTraceEvent(value, positionOf(first), digests)).toHaveProperty('fault');
  });

  test.each(Object.keys(first))('without its member %s is rejected', (member) => {
    const { [member as keyof TraceEvent]: _, ...rest } = first;
    expect(readTraceEvent(rest, positionOf(first), digests)).toHaveProperty('fault');
  });

  test.each(Object.keys(submission!))('whose submission lacks its member %s is rejected', (member) => {
    const { [member as keyof typeof submission]: _, ...rest } = submission!;
    expect(readTraceEvent({ ...first, submissions: [rest] }, positionOf(first), digests)).toHaveProperty('fault');
  });
});
