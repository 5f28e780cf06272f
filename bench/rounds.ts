/** One row of the table: a piece of work held against its limit, measured in the same run. */
export interface Row {
  work: string;
  limit: string;
  unit: string;
  /** Medians over the rounds. */
  rate: number;
  limitRate: number;
  /** Median of the rounds' own ratios: both sides of one are neighbours in time, so a drifting machine cancels out. */
  ratio: number;
  /** Absent for a row that only explains others. */
  goal?: Goal;
  rounds: { rate: number; limitRate: number }[];
  /** What else is worth knowing. */
  note?: string;
}

/** What the ratio is to reach. */
export interface Goal {
  atLeast: number;
  moonshot: number;
  /** Latency and memory: less is better. */
  lessIsBetter?: boolean;
}

/** How often and for how long each side is measured. */
export interface Pace {
  rounds: number;
  seconds: number;
}

/** A rate, measured for some seconds. */
export type Measure = (seconds: number) => Promise<number>;

/** What a row is called, and what it must reach. */
export type Title = Pick<Row, 'work' | 'limit' | 'unit' | 'goal'>;

/** Measures work and limit in turn, after a short run of each that warms caches and compilers and is thrown away. */
export async function alternate(title: Title, pace: Pace, work: Measure, limit: Measure): Promise<Row> {
  const warmSeconds = Math.min(pace.seconds, 2);
  await work(warmSeconds);
  await limit(warmSeconds);
  const rounds: Row['rounds'] = [];
  for (let round = 0; round < pace.rounds; round += 1) {
    // Every other round the limit goes first: neither side always follows the other's checkpoints and garbage.
    const first = round % 2 === 0 ? work : limit;
    const firstRate = await first(pace.seconds);
    const secondRate = await (first === work ? limit : work)(pace.seconds);
    rounds.push(first === work ? { rate: firstRate, limitRate: secondRate } : { rate: secondRate, limitRate: firstRate });
  }
  return rowOf(title, rounds);
}

/** A row of what was measured in rounds. */
export const rowOf = (title: Title, rounds: Row['rounds'], note?: string): Row => ({
  ...title,
  rate: median(rounds.map(({ rate }) => rate)),
  limitRate: median(rounds.map(({ limitRate }) => limitRate)),
  ratio: median(rounds.map(({ rate, limitRate }) => rate / limitRate)),
  rounds,
  ...(note === undefined ? {} : { note }),
});

/** Whether a row is where it is to be: the moonshot, at least, or neither; empty for a row without a goal. */
export function standing({ ratio, goal }: Row): 'moonshot' | 'reached' | 'missed' | '' {
  if (goal === undefined) return '';
  const { atLeast, moonshot, lessIsBetter = false } = goal;
  const reaches = (mark: number) => (lessIsBetter ? ratio <= mark : ratio >= mark);
  return reaches(moonshot) ? 'moonshot' : reaches(atLeast) ? 'reached' : 'missed';
}

/** The middle one; of an even number, the mean of the two in the middle. */
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** The value that a share of the others does not exceed. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((left, right) => left - right)[Math.min(values.length - 1, Math.floor(values.length * share))]!;
