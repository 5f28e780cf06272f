/**
 * One row of the table: the rate of some work compared with its limit, both measured in the same run. Some rows have an absolute limit,
 * such as 1 ms or a budget. In some rows, `rate` and `limitRate` are times or sizes: see `unit`.
 */
export interface Row {
  work: string;
  limit: string;
  unit: string;
  /** Medians over the rounds. */
  rate: number;
  limitRate: number;
  /** Median of the ratios of the rounds. Both sides of a round run one after the other, so slow changes of the machine cancel out. */
  ratio: number;
  /** Undefined for a row that only explains other rows. */
  target?: RatioTarget;
  rounds: { rate: number; limitRate: number }[];
  /** Additional information. */
  note?: string;
}

/** The ratio that is required, and a more ambitious ratio (`stretch`). */
export interface RatioTarget {
  required: number;
  stretch: number;
  /** True if a lower ratio is better, for example of times or sizes. */
  isLowerBetter?: boolean;
}

/** The number of rounds and the duration of each measurement. */
export interface RoundOptions {
  rounds: number;
  seconds: number;
}

/** Measures a rate for some seconds. */
export type Measure = (seconds: number) => Promise<number>;

/** The labels and the target of a row. */
export type Title = Pick<Row, 'work' | 'limit' | 'unit' | 'target'>;

/** Measures work and limit alternately. First runs each one briefly to warm up caches and compilers, and discards these results. */
export async function alternate(title: Title, options: RoundOptions, work: Measure, limit: Measure): Promise<Row> {
  const warmSeconds = Math.min(options.seconds, 2);
  await work(warmSeconds);
  await limit(warmSeconds);
  const rounds: Row['rounds'] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    // In every second round the limit goes first. So checkpoints and garbage collection do not always slow the same side.
    const first = round % 2 === 0 ? work : limit;
    const firstRate = await first(options.seconds);
    const secondRate = await (first === work ? limit : work)(options.seconds);
    rounds.push(first === work ? { rate: firstRate, limitRate: secondRate } : { rate: secondRate, limitRate: firstRate });
  }
  return rowOf(title, rounds);
}

/** A row from the results of the rounds. */
export const rowOf = (title: Title, rounds: Row['rounds'], note?: string): Row => ({
  ...title,
  rate: median(rounds.map(({ rate }) => rate)),
  limitRate: median(rounds.map(({ limitRate }) => limitRate)),
  ratio: median(rounds.map(({ rate, limitRate }) => rate / limitRate)),
  rounds,
  ...(note === undefined ? {} : { note }),
});

/** Whether a row reaches its stretch target, the required ratio, or neither. Empty for a row without a target. */
export function targetStatus({ ratio, target }: Row): 'stretch' | 'reached' | 'missed' | '' {
  if (target === undefined) return '';
  const { required, stretch, isLowerBetter = false } = target;
  const reaches = (mark: number) => (isLowerBetter ? ratio <= mark : ratio >= mark);
  return reaches(stretch) ? 'stretch' : reaches(required) ? 'reached' : 'missed';
}

/** The middle value. For an even number of values, the mean of the two middle ones. */
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** A percentile of the values: a share of 0.99 gives the 99th percentile, and a share of 1 the maximum. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((left, right) => left - right)[Math.min(values.length - 1, Math.floor(values.length * share))]!;
