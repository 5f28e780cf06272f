import { ImportError, isCount, labelOf } from './imported-evaluation.ts';
import { type Members, memberOf } from './parse-results.ts';

/** Which metric of a log is its pass rate. */
export interface MetricChoice {
  /** `METRIC` or `SCORER/METRIC`; `accuracy` when left out. Its value must be from 0 to 1. */
  metric?: string | undefined;
}

/** The metric that counts. */
export interface ChosenMetric {
  /** `SCORER/METRIC`. */
  name: string;
  /** 0 to 1. */
  value: number;
  /** Which share of the samples this scorer has scored, 0 to 1. */
  scoredShare: number;
}

interface Found extends ChosenMetric {
  metric: string;
}

/**
 * The metric of `results.scores` that counts as the pass rate. Nothing is guessed: none or more than one that fits is an error that
 * lists those there are.
 */
export function chosenMetric(results: Members, { metric: asked = 'accuracy' }: MetricChoice): ChosenMetric {
  const all = metricsOf(results);
  const fitting = all.filter(({ name, metric }) => name === asked || metric === asked);
  const [found] = fitting;
  const listed = all.length === 0 ? 'the log has none' : `the log has ${all.map(({ name }) => name).join(', ')}`;
  if (found === undefined)
    throw new ImportError('ambiguous', `no metric ${JSON.stringify(asked)}: ${listed}; name one with --metric`);
  if (fitting.length > 1)
    throw new ImportError(
      'ambiguous',
      `more than one metric ${JSON.stringify(asked)}: ${listed}; name one with --metric SCORER/METRIC`,
    );
  if (!(found.value >= 0 && found.value <= 1))
    throw new ImportError(
      'ambiguous',
      `${found.name} is ${found.value}, which is no share from 0 to 1; name another metric with --metric`,
    );
  return found;
}

function metricsOf({ scores }: Members): Found[] {
  if (!Array.isArray(scores)) return [];
  return scores.flatMap((score) => {
    const scorer = labelOf(memberOf(score, 'name'), memberOf(score, 'scorer')) ?? 'scorer';
    const metrics = memberOf(score, 'metrics');
    return Object.keys(metrics ?? {}).flatMap((key): Found[] => {
      const value = memberOf(memberOf(metrics, key), 'value');
      // A metric that could not be computed (NaN) is kept, so that it is not passed over for another one.
      return [
        {
          name: `${scorer}/${key}`,
          metric: key,
          value: typeof value === 'number' ? value : Number.NaN,
          scoredShare: scoredShare(score),
        },
      ];
    });
  });
}

/** Older logs do not say how many samples a scorer has scored; there, `completed_samples` alone counts. */
function scoredShare(score: unknown): number {
  const [scored, unscored] = [memberOf(score, 'scored_samples'), memberOf(score, 'unscored_samples')];
  if (!isCount(scored) || !isCount(unscored) || unscored === 0) return 1;
  return scored / (scored + unscored);
}
