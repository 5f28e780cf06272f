import { type CaseCounts, denominatorOf, isAboveShare, isBelowShare, passedCasesMax, percentOf } from './case-counts.ts';
import type { Completeness, DetailedEvaluation } from './detailed-evaluation.ts';
import type { Issue } from './issue.ts';
import { INTEGER_MAX } from './scalars.ts';

type Body = Readonly<Record<string, unknown>>;

/** Returns the violations of rules that the schema cannot express: rules for counts, rates, completeness and `evaluated_at`. */
export function evaluationRuleViolations(body: Body): Issue[] {
  const cases = caseCountsOf(body.cases);
  const countViolations = cases === undefined ? [] : countIssues(cases);
  const rateViolations = cases === undefined || countViolations.length > 0 ? [] : rateIssues(body, cases);
  return [...countViolations, ...rateViolations, ...completenessIssues(body), ...evaluatedAtIssues(body)];
}

/**
 * The pass rate that promotion checks use, in percent: the reported rate or the rate of the cases, whichever is lower. Without
 * `cases.passed`, every case with a score counts as passed. null if the denominator is 0, or if neither `pass_rate` nor `cases.passed`
 * is sent. The body must be valid.
 */
export function effectivePassRate({ cases, pass_rate: reported, skipped_excluded: excluded }: DetailedEvaluation): number | null {
  if (cases == null) return reported ?? null;
  const denominator = denominatorOf(cases, excluded === true);
  if (denominator === 0 || (cases.passed == null && reported == null)) return null;
  return Math.min(reported ?? 100, percentOf(passedCasesMax(cases), denominator));
}

/** How much of the suite ran; null if the body has neither `completeness` nor `partial: true`. The body must be valid. */
export const completenessOf = ({ partial, completeness }: DetailedEvaluation): Completeness | null =>
  partial === true ? 'partial' : (completeness ?? null);

function countIssues(cases: CaseCounts): Issue[] {
  const { total, passed, failed, errored, skipped } = cases;
  if (passed == null && failed != null) {
    return [
      {
        path: '/cases/passed',
        code: 'required',
        message: 'cases.passed is required with cases.failed; leave out both if scores are not binary',
      },
    ];
  }
  const sum = sumOf([passed, failed, errored, skipped]);
  const isConsistent = passed == null ? sum <= BigInt(total) : sum === BigInt(total);
  if (isConsistent) return [];
  const expected = passed == null ? 'at least errored + skipped' : 'passed + failed + errored + skipped';
  return [contradiction('/cases/total', `cases.total is ${total}, but must be ${expected}, which is ${sum}`)];
}

function rateIssues({ pass_rate: rate, skipped_excluded: excluded }: Body, cases: CaseCounts): Issue[] {
  if (typeof rate !== 'number' || !(rate >= 0 && rate <= 100)) return [];
  const denominator = denominatorOf(cases, excluded === true);
  if (denominator === 0)
    return [
      contradiction(
        '/pass_rate',
        'there are no cases to count: cases.total is 0, or all cases are skipped and excluded; leave pass_rate out',
      ),
    ];
  const passed = passedCasesMax(cases);
  const isTooLow = cases.passed != null && isBelowShare(rate, passed, denominator);
  if (!isTooLow && !isAboveShare(rate, passed, denominator)) return [];
  const comparison =
    cases.passed == null
      ? `only ${passed} of ${denominator} cases have a score, so the pass rate is at most ${percentOf(passed, denominator)}`
      : `${passed} of ${denominator} cases passed, which is ${percentOf(passed, denominator)}`;
  return [
    contradiction(
      '/pass_rate',
      `pass_rate is ${rate}, but ${comparison}; the difference may be at most 0.1 percentage points. Correct one of them, or leave pass_rate out`,
    ),
  ];
}

function completenessIssues({ partial, completeness }: Body): Issue[] {
  const isContradiction =
    (partial === true && completeness != null && completeness !== 'partial') || (partial === false && completeness === 'partial');
  if (!isContradiction) return [];
  return [contradiction('/completeness', `partial is ${partial}, which contradicts completeness; send only one of them`)];
}

function evaluatedAtIssues({ evaluated_at: at }: Body): Issue[] {
  if (typeof at !== 'string' || !isBefore1970(at)) return [];
  return [{ path: '/evaluated_at', code: 'too_small', message: 'evaluated_at must be 1970 or later' }];
}

/**
 * Whether a date-time is before 1970 in UTC; false if it is malformed. Date.parse rejects leap seconds, and reads a time without an offset
 * as local time.
 */
function isBefore1970(dateTime: string): boolean {
  const text = dateTime.toUpperCase().replace(':60', ':59');
  return Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`) < 0;
}

const contradiction = (path: string, message: string): Issue => ({ path, code: 'contradiction', message });

/** The counts in an unvalidated `cases`; undefined if it is not an object, or if `total` or a part that was sent is not a count. */
function caseCountsOf(value: unknown): CaseCounts | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const cases = value as Record<string, unknown>;
  const parts = [cases.passed, cases.failed, cases.errored, cases.skipped];
  const areCounts = isCount(cases.total) && parts.every((part) => part == null || isCount(part));
  return areCounts ? (value as CaseCounts) : undefined;
}

const isCount = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= INTEGER_MAX;

/** The sum of the counts, exact even beyond 2^53-1. */
const sumOf = (counts: readonly (number | null | undefined)[]): bigint =>
  counts.reduce<bigint>((sum, count) => sum + BigInt(count ?? 0), 0n);
