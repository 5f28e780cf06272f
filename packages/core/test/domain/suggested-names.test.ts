import { decideFromEvidence, evidenceDocument } from '@countersign/core/domain/evidence-document';
import { showsName, suggestedNames } from '@countersign/core/domain/suggested-names';
import { expect, test } from 'vitest';

/** The message of a decision about an unknown agent whose name looks like the names `similarNames` of known agents. */
function messageOf(requested: string, similarNames: string[]): string {
  const request = { agent_id: null, agent_name: requested, harness_id: null, max_age_hours: 72, min_pass_rate: 80 };
  const noEvidence = { agent: null, approval: null, evaluation: null, open_recertifications: 0, other_evaluations: [] };
  const evidence = { ...noEvidence, read_at: '2026-11-20T12:00:00.000000Z' };
  return decideFromEvidence(evidenceDocument('3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24', request, evidence, similarNames)).message;
}

test.each([
  [['refund-agent']],
  [['refund-agent', 'Refund-Agent', 'réfund-agent 😀']],
  [['a "quoted" name; did you mean "this"?']],
  [['x'.repeat(60), 'x'.repeat(61), '😀'.repeat(250)]],
  [['invisible\u200bspace', 'turned\u202eround', `${'\u200b'.repeat(99)}a`]],
  [['or "or" or']],
])('the names that the message of a decision suggests are found and recognized: %j', (names) => {
  const shown = suggestedNames(messageOf('refund-ag\u0435nt; did you mean "x"', names));
  expect(shown).toHaveLength(names.length);
  for (const [index, name] of names.entries()) expect(showsName(shown[index]!, name), name).toBe(true);
});

// All verifiers count code points. Nine of these names have fewer than 1,000 code points, but more than 1,000 UTF-16 code units.
test('names are found only if the last 1,000 code points of a message contain all of them', () => {
  const name = `"${'😀'.repeat(60)}"`;
  const message = (count: number) => `No; did you mean ${Array.from({ length: count }, () => name).join(' or ')}?`;
  expect(suggestedNames(message(9))).toHaveLength(9);
  expect(suggestedNames(message(99))).toEqual([]);
});

test('no name is found in a message that suggests none, or in a value that is not a string', () => {
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
