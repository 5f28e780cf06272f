import type { Change } from '@countersign/core/portal/approval-routes';
import type { RelatedRuns } from '@countersign/core/portal/evaluation-routes';
import type { StoredEvaluation } from '../storage/portal/evaluations.ts';

/** The facts by which two evaluations are compared. */
type ComparedFacts = Pick<
  StoredEvaluation,
  'name' | 'pass_rate' | 'status' | 'category' | 'harness_id' | 'severity_threshold' | 'recorded_by'
> &
  Pick<RelatedRuns, 'models'>;

const FACTS = ['pass_rate', 'status', 'name', 'harness_id', 'category', 'severity_threshold', 'recorded_by'] as const;

/** The differences between two evaluations: what was reported, by whom, and the models of the runs. */
export function changesBetween(before: ComparedFacts, now: ComparedFacts): Change[] {
  const facts = FACTS.map((what) => changeOf(what, before[what], now[what]));
  return [...facts, changeOf('models', modelsOf(before), modelsOf(now))].filter((change) => change !== undefined);
}

function changeOf(what: Change['what'], before: string | number | null, now: string | number | null): Change | undefined {
  if (before === now) return undefined;
  const difference = typeof before === 'number' && typeof now === 'number' ? rounded(now - before) : null;
  return { what, before: before === null ? null : String(before), now: now === null ? null : String(now), difference };
}

/** The models, sorted by name, so that another order of use does not count as a change. Null if the runs name no model. */
const modelsOf = ({ models }: ComparedFacts): string | null =>
  models.length === 0
    ? null
    : models
        .map(({ model }) => model)
        .toSorted()
        .join(', ');

/** Removes the rounding error of binary floating point. */
const rounded = (difference: number): number => Math.round(difference * 1e6) / 1e6;
