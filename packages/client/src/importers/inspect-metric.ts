import { ImportError, isCount, labelOf } from './imported-evaluation.ts';
import { countReduced, type ReductionKey } from './inspect-reductions.ts';
import { type Members, memberOf } from './parse-results.ts';

/** Which metric of a log is its pass rate. */
export interface MetricChoice {
  /**
   * `METRIC`, `SCORER/METRIC` or `SCORER@REDUCER/METRIC`. Default: the log's only metric, which must be `accuracy` and use the mean
   * of the epochs. Measures of spread are not counted as metrics. The value must be from 0 to 1.
   */
  metric?: string | undefined;
}

/** The metric that is used as the pass rate. */
export interface ChosenMetric {
  /** `SCORER/METRIC`, or `SCORER@REDUCER/METRIC`. */
  name: string;
  /** 0 to 1. */
  value: number;
  /** The numbers of samples that the scorer scored, and that it left unscored. Undefined for older logs, which lack these numbers. */
  samples: ScorerSamples | undefined;
  /** Finds the scored samples of an older log in its reductions. */
  key: ReductionKey;
  /** The score whose mean over the samples is the metric. Undefined if the metric is computed in another way. */
  meanOf: ScoreKey | undefined;
}

/** The names under which the samples of a log contain a score. */
export interface ScoreKey {
  name: unknown;
  scorer: unknown;
}

/** Numbers of samples. Each sample counts once, whatever the number of epochs. Samples in error are in neither number. */
interface ScorerSamples {
  scored: number;
  unscored: number;
}

interface Candidate extends ChosenMetric {
  scorer: string;
  metric: string;
  /** How the epochs of a sample are combined; undefined for the mean, the default of Inspect. */
  reducer: string | undefined;
}

/** Measures of statistical spread, which cannot be a pass rate. */
const SPREADS: ReadonlySet<string> = new Set(['stderr', 'bootstrap_stderr', 'std', 'var']);

/** Reducers whose result for a single epoch is the mean: the value of this epoch. `pass_at_2`, for example, gives another value. */
const MEAN_OF_SINGLE_EPOCH: ReadonlySet<string> = new Set(['mode', 'median', 'max', 'at_least_1', 'pass_at_1']);

/** Whether a reducer gives the mean of the epochs. */
const isMean = (reducer: string | undefined, epochs: number): boolean =>
  reducer === undefined || reducer === 'mean' || (epochs === 1 && MEAN_OF_SINGLE_EPOCH.has(reducer));

/** The largest number of metrics listed in a message. */
const LISTED_MAX = 12;

/**
 * The metric of `results.scores` that is the pass rate. Measures of spread do not count. The caller must name the metric if there are
 * several, if the only one is not `accuracy`, or if its reducer is not the mean.
 * @throws ImportError if no metric or more than one matches, if the caller must name the metric and did not, or if its value is not from 0
 *   to 1
 */
export function chooseMetric(results: Members, { metric: requested, epochs }: MetricChoice & { epochs: number }): ChosenMetric {
  const candidates = candidatesOf(results);
  const names = candidates.map(({ name }) => name);
  const metricList = candidates.length === 0 ? 'the log has none' : `the log has ${names.slice(0, LISTED_MAX).join(', ')}`;
  const matching = candidates.filter(({ name, scorer, metric }) =>
    requested === undefined ? true : [name, `${scorer}/${metric}`, metric].includes(requested),
  );
  const [found] = matching;
  if (found === undefined)
    throw ambiguousError(
      `no metric ${requested === undefined ? 'that could be a pass rate' : JSON.stringify(requested)}: ${metricList}`,
    );
  if (matching.length > 1)
    throw ambiguousError(
      `more than one metric${requested === undefined ? '' : ` ${JSON.stringify(requested)}`}: ` +
        `${metricList}; name one, such as --metric ${found.name}`,
    );
  if (requested === undefined && found.metric !== 'accuracy')
    throw ambiguousError(
      `it is unknown whether ${found.name} is a share of passed samples; if it is, give --metric ${found.name}`,
    );
  if (requested === undefined && !isMean(found.reducer, epochs))
    throw ambiguousError(
      `the reducer ${found.reducer} combines the epochs of each sample, so ${found.name} ` +
        `is not the share of passed runs; to use it anyway, give --metric ${found.name}`,
    );
  if (!(found.value >= 0 && found.value <= 1))
    throw ambiguousError(`${found.name} is ${found.value}, which is not a share from 0 to 1; name another metric with --metric`);
  return found;
}

const ambiguousError = (message: string): ImportError => new ImportError('ambiguous', message);

function candidatesOf({ scores }: Members): Candidate[] {
  if (!Array.isArray(scores)) return [];
  return scores.flatMap((score) => {
    const scorer = labelOf(memberOf(score, 'name'), memberOf(score, 'scorer')) ?? 'scorer';
    const reducer = labelOf(memberOf(score, 'reducer'));
    const metrics = memberOf(score, 'metrics');
    return Object.keys(metrics ?? {}).flatMap((metric): Candidate[] => {
      const found = memberOf(metrics, metric);
      if (isSpread(metric) || isSpread(memberOf(found, 'name'))) return [];
      const value = memberOf(found, 'value');
      return [
        {
          ...{ scorer, metric, reducer, name: `${scorer}${reducer === undefined ? '' : `@${reducer}`}/${metric}` },
          // A metric without a value (NaN) stays in the list, so that another metric is not selected instead.
          value: typeof value === 'number' ? value : Number.NaN,
          samples: samplesOf(score),
          key: { scorer: memberOf(score, 'scorer'), reducer: memberOf(score, 'reducer') },
          meanOf: isPlainMean(metric, reducer, found)
            ? { name: memberOf(score, 'name'), scorer: memberOf(score, 'scorer') }
            : undefined,
        },
      ];
    });
  });
}

/** Whether a metric is the share of passed runs, and has no options that change how values are converted to numbers. */
const isPlainMean = (metric: string, reducer: string | undefined, found: unknown): boolean =>
  metric === 'accuracy' &&
  (reducer === undefined || reducer === 'mean') &&
  ['params', 'options'].every((name) => Object.keys(memberOf(found, name) ?? {}).length === 0);

/** The name of a metric may start with its package and a slash. */
const isSpread = (name: unknown): boolean => typeof name === 'string' && SPREADS.has(name.slice(name.lastIndexOf('/') + 1));

function samplesOf(score: unknown): ScorerSamples | undefined {
  const [scored, unscored] = [memberOf(score, 'scored_samples'), memberOf(score, 'unscored_samples')];
  return isCount(scored) && isCount(unscored) ? { scored, unscored } : undefined;
}

/** The planned and the completed runs of a log, and the epochs of each sample. A run is one sample in one epoch. */
export interface PlannedRuns {
  total: number;
  completed: number;
  epochs: number;
}

/** A metric whose numbers of samples are known. */
type ScoredMetric = Pick<ChosenMetric, 'value'> & { samples: ScorerSamples };

/**
 * The metric with its numbers of samples. For an older log they come from the reductions. If these are missing too, the largest possible
 * number of scored samples is used: the number of all samples, or of completed runs if that is smaller.
 */
export function withSamples(
  metric: ChosenMetric,
  { total, completed, epochs }: PlannedRuns,
  reductions: () => unknown,
): ScoredMetric {
  if (metric.samples !== undefined) return { value: metric.value, samples: metric.samples };
  const scored = countReduced(reductions(), metric.key) ?? Number.POSITIVE_INFINITY;
  return { value: metric.value, samples: { scored: Math.min(scored, total / epochs, completed), unscored: 0 } };
}

/** How many of the planned runs a metric covers. */
interface Coverage {
  /** The largest possible number of runs that the metric covers. The other runs ended with an error or are unscored. */
  covered: number;
  /**
   * The smallest possible number of passed runs, if the value is the mean over the epochs. With another reducer, every run of a passed
   * sample counts as passed.
   */
  passed: number;
}

/**
 * The coverage of a metric, which covers neither runs in error nor unscored runs. `completed` excludes the runs in error already, so only
 * the unscored runs are subtracted from it. The value of a sample is computed from its epochs without an error, and the log does not show
 * in which samples epochs are missing. So one passed run is subtracted for each missing epoch of a scored sample.
 */
export function coverageOf({ value, samples: { scored, unscored } }: ScoredMetric, { completed, epochs }: PlannedRuns): Coverage {
  const covered = Math.max(0, Math.min(scored * epochs, completed - unscored * epochs));
  const missing = scored * epochs - covered;
  return { covered, passed: Math.max(0, value * scored * epochs - missing) };
}
