import { type Change, COMPARED_FACTS } from '@countersign/core/portal/approval-routes';
import type { EvaluationDetails, RelatedRuns } from '@countersign/core/portal/evaluation-routes';
import type { StoredEvaluation } from '../storage/portal/evaluations.ts';

/** The members of an evaluation that are compared. */
export type ComparedEvaluation = Pick<
  StoredEvaluation,
  'name' | 'pass_rate' | 'status' | 'category' | 'harness_id' | 'severity_threshold' | 'recorded_by'
> &
  Pick<
    EvaluationDetails,
    'artifact' | 'suite' | 'completeness' | 'cases' | 'skipped_excluded' | 'blocking_failures' | 'max_severity'
  > &
  Pick<RelatedRuns, 'models'>;

/** The differences between two evaluations: what was reported, by whom, and the models of the runs. */
export function changesBetween(before: ComparedEvaluation, now: ComparedEvaluation): Change[] {
  const [factsBefore, factsNow] = [factsOf(before), factsOf(now)];
  return COMPARED_FACTS.map((what) => changeOf(what, factsBefore[what], factsNow[what])).filter((change) => change !== undefined);
}

const factsOf = ({ suite, cases, blocking_failures, models, ...others }: ComparedEvaluation) => ({
  ...others,
  suite: suite?.name ?? null,
  suite_version: suite?.version ?? null,
  suite_digest: suite?.digest ?? null,
  cases: cases?.total ?? null,
  case_outcomes: caseOutcomes(cases, others.skipped_excluded),
  blocking_failures: sortedList(blocking_failures),
  models: sortedList(models.map(({ model }) => model)),
});

/** The cases by outcome, in one text. Parts that are 0 or were not sent are left out, except `0 passed` if it was sent. */
function caseOutcomes(cases: ComparedEvaluation['cases'], skippedExcluded: boolean): string | null {
  if (cases === null) return null;
  const outcomes = (['passed', 'failed', 'errored', 'skipped'] as const).flatMap((outcome) =>
    cases[outcome] || (outcome === 'passed' && cases.passed === 0) ? [`${cases[outcome]} ${outcome}`] : [],
  );
  if (outcomes.length === 0) return null;
  return outcomes.join(', ') + (skippedExcluded && cases.skipped ? ' (not counted)' : '');
}

/**
 * Names in one text, sorted, so that another order does not count as a change. Null if there are none. Names with a comma or a quotation
 * mark are quoted, so that two different lists never have the same text.
 */
const sortedList = (names: readonly string[]): string | null =>
  names.length === 0
    ? null
    : names
        .toSorted()
        .map((name) => (/[",]/.test(name) ? JSON.stringify(name) : name))
        .join(', ');

function changeOf(what: Change['what'], before: string | number | null, now: string | number | null): Change | undefined {
  if (before === now) return undefined;
  const difference = typeof before === 'number' && typeof now === 'number' ? round(now - before) : null;
  return { what, before: before === null ? null : String(before), now: now === null ? null : String(now), difference };
}

/**
 * Rounds to six decimals, which removes the rounding error of binary floating point. A number above 1e9 is not rounded, because it does not
 * have six exact decimals.
 */
const round = (difference: number): number => (Math.abs(difference) > 1e9 ? difference : Math.round(difference * 1e6) / 1e6);
