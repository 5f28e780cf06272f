import { type Static, Type } from 'typebox';
import { count, optional } from './scalars.ts';

/** The counts of cases by outcome. */
export const CaseCounts = Type.Object(
  {
    total: count({ description: 'All cases. With passed: the sum of passed, failed, errored and skipped.', examples: [40] }),
    passed: optional(
      count({
        description: 'Cases that passed. Leave out passed and failed if scores are not binary.',
        examples: [37],
      }),
    ),
    failed: optional(count({ description: 'Cases that failed; default 0 if passed is sent.', examples: [2] })),
    errored: optional(count({ description: 'Cases that ended with an error and have no score.', default: 0, examples: [1] })),
    skipped: optional(count({ description: 'Cases that were not run.', default: 0, examples: [0] })),
  },
  {
    $id: 'CaseCounts',
    additionalProperties: false,
    description:
      'How many cases the evaluation had. With `passed`, `total` is the sum of the four parts, and a part that is left out counts as 0. ' +
      'Without `passed`, scores are not binary, and `total` is at least errored + skipped.',
  },
);
export type CaseCounts = Static<typeof CaseCounts>;

/**
 * The denominator of the pass rate: all cases, or all but the skipped ones if the sender excludes them. Errored cases are always
 * included, because they did not pass.
 */
export const denominatorOf = ({ total, skipped }: CaseCounts, skippedExcluded: boolean): number =>
  skippedExcluded ? total - (skipped ?? 0) : total;

/** The maximum number of passed cases: `passed`, or, if scores are not binary, the number of cases with a score. */
export const passedCasesMax = ({ total, passed, errored, skipped }: CaseCounts): number =>
  passed ?? total - (errored ?? 0) - (skipped ?? 0);

/**
 * Returns `part` of `whole` in percent, as the largest double whose decimal form is not above the exact share. So the result meets a
 * threshold if and only if the exact share does: 1 of 1,000 is 0.1, and 2 of 3 is below 66.66666666666667.
 */
export function percentOf(part: number, whole: number): number {
  if (part <= 0) return 0;
  if (part >= whole) return 100;
  let percent = (part / whole) * 100;
  while (compareToShare(percent, part, whole) > 0n) percent = nextDouble(percent, -1n);
  for (let next = nextDouble(percent, 1n); compareToShare(next, part, whole) <= 0n; next = nextDouble(next, 1n)) percent = next;
  return percent;
}

/** Whether a percentage is above the exact share by more than 0.1 percentage points, the tolerance for rounded rates. */
export const isAboveShare = (percent: number, part: number, whole: number): boolean =>
  compareToShare(percent, part, whole) * 10n > BigInt(whole) * powerOf(percent);

/** Whether a percentage is below the exact share by more than 0.1 percentage points. */
export const isBelowShare = (percent: number, part: number, whole: number): boolean =>
  -compareToShare(percent, part, whole) * 10n > BigInt(whole) * powerOf(percent);

/** Returns `percent - 100 * part / whole`, without rounding, multiplied by `whole` and by `powerOf(percent)`. */
function compareToShare(percent: number, part: number, whole: number): bigint {
  const { digits, scale } = decimalOf(percent);
  return digits * BigInt(whole) - 100n * BigInt(part) * 10n ** BigInt(scale);
}

/** Returns 10^scale of the decimal that a percentage prints as. */
const powerOf = (percent: number): bigint => 10n ** BigInt(decimalOf(percent).scale);

/** The decimal that a number from 0 to 100 prints as: digits / 10^scale. */
function decimalOf(number: number): { digits: bigint; scale: number } {
  const [mantissa = '', exponent = '0'] = String(number).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), scale: fraction.length - Number(exponent) };
}

/** The next double above a positive double (step 1n), or below it (step -1n). */
function nextDouble(number: number, step: 1n | -1n): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  view.setBigUint64(0, view.getBigUint64(0) + step);
  return view.getFloat64(0);
}
