import { type Change, COMPARED_FACTS } from '@countersign/core/portal/approval-routes';
import type { EvaluationDetails, RelatedRuns } from '@countersign/core/portal/evaluation-routes';
import type { StoredEvaluation } from '../storage/portal/evaluations.ts';

/** The members of an evaluation that are compared. */
export type ComparedEvaluation = Pick<
  StoredEvaluation,
  'name' | 'pass_rate' | 'status' | 'category' | 'harness_id' | 'severity_threshold' | 'recorded_by'
> &
  Pick<EvaluationDetails, 'artifact' | 'suite' | 'completeness' | 'cases' | 'blocking_failures' | 'max_severity'> &
  Pick<RelatedRuns, 'models'>;

/** The differences between two evaluations: what was reported, by whom, and the models of the runs. */
export function changesBetween(before: ComparedEvaluation, now: ComparedEvaluation): Change[] {
  const [factsBefore, factsNow] = [factsOf(before), factsOf(now)];
  return COMPARED_FACTS.map((what) => changeOf(what, factsBefore[what], factsNow[what])).filter((change) => change !== undefined);
}

const factsOf = ({ suite, cases, blocking_failures, models, ...others }: ComparedEvaluation) => ({
  ...others,
  suite: suite === null ? null : [suite.name, suite.version, suite.digest].filter((part) => part != null).join(' '),
  cases: cases?.total ?? null,
  blocking_failures: sortedList(blocking_failures),
  models: sortedList(models.map(({ model }) => model)),
});

/** Names in one text. They are sorted, so that another order does not count as a change. Null if there are no names. */
const sortedList = (names: readonly string[]): string | null => (names.length === 0 ? null : names.toSorted().join(', '));

function changeOf(what: Change['what'], before: string | number | null, now: string | number | null): Change | undefined {
  if (before === now) return undefined;
  const difference = typeof before === 'number' && typeof now === 'number' ? rounded(now - before) : null;
  return { what, before: before === null ? null : String(before), now: now === null ? null : String(now), difference };
}

/**
 * Rounds to six decimals, which removes the rounding error of binary floating point. A number above 1e9 is not rounded, because it does not
 * have six exact decimals.
 */
const rounded = (difference: number): number => (Math.abs(difference) > 1e9 ? difference : Math.round(difference * 1e6) / 1e6);
