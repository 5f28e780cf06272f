import { ImportError, isCount } from './imported-evaluation.ts';
import type { ChosenMetric, ScoreKey } from './inspect-metric.ts';
import { isObject, type Members, memberOf } from './parse-results.ts';

/** The largest relative error of the sums that Inspect computes. */
const SUM_ERROR = 1e-6;

/** The samples that a JSON log lists, each once per epoch. The header of an archive lists none. */
export const samplesOf = ({ samples }: Members): readonly unknown[] => (Array.isArray(samples) ? samples : []);

/** The number of planned runs of a log, and of runs that passed according to its results. */
interface CountedRuns {
  total: number;
  passed: number;
}

/**
 * The number of passed runs that the listed samples of a JSON log prove: at most `passed`, the number in the results of the log. Runs that
 * the scorer left unscored did not pass.
 * @throws ImportError if a sample is listed twice, if more than `total` samples are listed, or if fewer than `passed` of them can have
 *   passed.
 */
export function provenPasses(log: Members, spec: Members, metric: ChosenMetric, { total, passed }: CountedRuns): number {
  const samples = samplesOf(log);
  if (samples.length === 0) return passed;
  if (samples.length > total) throw contradictionError(`its results count ${total} samples, but it lists ${samples.length}`);
  requireDistinct(samples);
  const areErrorsScored = memberOf(spec.config, 'score_on_error') === true;
  const values = samples
    .filter((sample) => areErrorsScored || memberOf(sample, 'error') == null)
    .map((sample) => (metric.meanOf === undefined ? 1 : largestValue(scoreValue(sample, metric.meanOf))));
  const proven = values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  const passedMax = proven + values.filter((value) => value === undefined).length;
  const tolerance = SUM_ERROR * samples.length;
  if (passed > passedMax + tolerance)
    throw contradictionError(
      `its results give ${roundToHundredths(passed)} passed samples (${metric.name} ${metric.value}), ` +
        `but its samples give at most ${roundToHundredths(passedMax)}`,
    );
  return passed > proven + tolerance ? proven : passed;
}

const contradictionError = (why: string): ImportError =>
  new ImportError(
    'contradictory',
    `this log of Inspect AI contradicts itself: ${why}. Score the log again (\`inspect score\`), and import the new log`,
  );

/** Throws an ImportError if a sample is listed twice in one epoch. */
function requireDistinct(samples: readonly unknown[]): void {
  const listedKeys = new Set<string>();
  for (const sample of samples) {
    const [id, epoch] = [memberOf(sample, 'id'), memberOf(sample, 'epoch')];
    if (typeof id !== 'number' && typeof id !== 'string') continue;
    const key = `${JSON.stringify(id)} ${isCount(epoch) ? epoch : 1}`;
    if (listedKeys.has(key))
      throw contradictionError(
        `it lists the sample ${JSON.stringify(id).slice(0, 60)} of epoch ${isCount(epoch) ? epoch : 1} more than once`,
      );
    listedKeys.add(key);
  }
}

const roundToHundredths = (count: number): number => Math.round(count * 100) / 100;

/**
 * The value of a score of a sample; undefined if it is not found. If the scorer returns several values, each value is a member of the
 * score.
 */
function scoreValue(sample: unknown, { name, scorer }: ScoreKey): unknown {
  const scores = memberOf(sample, 'scores');
  const value = memberOf(memberOf(scores, String(name)) ?? memberOf(scores, String(scorer)), 'value');
  return isObject(value) ? memberOf(value, String(name)) : value;
}

/**
 * The largest number that Inspect can use for a value (`value_to_float`): 1 for values whose meaning is not known. Undefined for null,
 * because the sample was not scored.
 */
function largestValue(value: unknown): number | undefined {
  if (value === null) return undefined;
  if (typeof value === 'number') return value;
  if (value === 'P') return 0.5;
  if (value === false || value === 'I' || value === 'N' || (typeof value === 'string' && /^(?:no|false)$/i.test(value))) return 0;
  return typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : 1;
}
