import { isObject, textOf } from './conventions/messages.ts';
import type { Attributes, Value } from './records.ts';

/** A score of one answer in a run. It is not an evaluation of the agent, because the score of one answer is not a pass rate. */
export interface Finding {
  /** What was judged, for example `relevance`. */
  name: string;
  score: number | null;
  label: string | null;
  explanation: string | null;
}

/** The name of the event that contains a finding. */
export const FINDING_EVENT = 'gen_ai.evaluation.result';

/** The finding in an event; undefined for other events. */
export function findingOf(event: { name: string; attributes: Attributes; body?: Value }): Finding | undefined {
  if (event.name !== FINDING_EVENT) return undefined;
  const read = (name: string): Value => event.attributes.get(name) ?? (isObject(event.body) ? (event.body[name] ?? null) : null);
  const text = (name: string): string | null => {
    const value = read(name);
    return value === null || value === '' ? null : textOf(value).toWellFormed();
  };
  const score = read('gen_ai.evaluation.score.value');
  return {
    name: text('gen_ai.evaluation.name') ?? 'unnamed',
    score: typeof score === 'number' && Number.isFinite(score) ? score : null,
    label: text('gen_ai.evaluation.score.label'),
    explanation: text('gen_ai.evaluation.explanation'),
  };
}
