import { decideFromEvidence, evidenceDocument } from '@countersign/core/domain/evidence-document';
import { showsName, suggestedNames } from '@countersign/core/domain/suggested-names';
import { expect, test } from 'vitest';

/** The message of the decision on an unknown agent if these known names look like the name of this agent. */
function messageOf(requested: string, similarNames: string[]): string {
  const asked = { agent_id: null, agent_name: requested, harness_id: null, max_age_hours: 72, min_pass_rate: 80 };
  const nothing = { agent: null, approval: null, evaluation: null, open_recertifications: 0, other_evaluations: [] };
  const read = { ...nothing, read_at: '2026-11-20T12:00:00.000000Z' };
  return decideFromEvidence(evidenceDocument('3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24', asked, read, similarNames)).message;
}

test.each([
  [['refund-agent']],
  [['refund-agent', 'Refund-Agent', 'réfund-agent 😀']],
  [['a "quoted" name; did you mean "this"?']],
  [['x'.repeat(60), 'x'.repeat(61), '😀'.repeat(250)]],
  [['invisible\u200bspace', 'turned\u202eround', `${'\u200b'.repeat(99)}a`]],
  [['or "or" or']],
])('the names in a message of this service are found and recognized: %j', (known) => {
  const shown = suggestedNames(messageOf('refund-agеnt; did you mean "x"', known));
  expect(shown).toHaveLength(known.length);
  for (const [index, name] of known.entries()) expect(showsName(shown[index]!, name), name).toBe(true);
});

// Nine of these names have more than 1,000 UTF-16 code units, but fewer than 1,000 code points, which all verifiers count.
test('names are found in the last 1,000 code points of a message', () => {
  const name = `"${'😀'.repeat(60)}"`;
  const message = (count: number) => `No; did you mean ${Array.from({ length: count }, () => name).join(' or ')}?`;
  expect(suggestedNames(message(9))).toHaveLength(9);
  expect(suggestedNames(message(99))).toEqual([]);
});

test('other messages suggest no name', () => {
  for (const message of [messageOf('unknown', []), messageOf('unknown\u200b', []), 'No; did you mean it?', undefined, 7])
    expect(suggestedNames(message)).toEqual([]);
});

test.each([
  ['refund-agent (approved)', 'refund-agent'],
  ['refund', 'refund-agent'],
  ['refund-agent', 'Refund-agent'],
  ['réfund-agent', 'refund-agent'],
  ['', 'a'],
  [`${'x'.repeat(59)}…`, `${'x'.repeat(58)}y${'x'.repeat(9)}`],
])('the text %j does not show the name %j', (shown, known) => {
  expect(showsName(shown, known)).toBe(false);
});
