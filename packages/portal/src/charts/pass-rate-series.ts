import type { PassRatePoint } from '@countersign/core/portal/agent-routes';

/** An evaluation with a pass rate. `at` is when it was recorded, in milliseconds since 1970. */
export type RatedPoint = PassRatePoint & { pass_rate: number; at: number };

/** The pass rates of the evaluations with the same `seriesName`. */
export interface RateSeries {
  name: string;
  /** Oldest first, at least one. */
  points: readonly RatedPoint[];
}

/** The series of a chart. */
export interface RateSeriesSet {
  /** The suites with their own line, most recently evaluated first. */
  lines: readonly RateSeries[];
  /** The points of all other suites, without a line, and the number of these suites. */
  others: { suiteCount: number; points: readonly RatedPoint[] };
}

/** The evaluations with a pass rate in chronological order. */
export const ratedPoints = (points: readonly PassRatePoint[]): RatedPoint[] =>
  points
    .flatMap((point) =>
      point.pass_rate === null ? [] : [{ ...point, pass_rate: point.pass_rate, at: Date.parse(point.recorded_at) }],
    )
    .sort((left, right) => left.at - right.at);

/** The name of the series that a point belongs to: its suite, or the name of the evaluation if it has no suite. */
export const seriesName = ({ suite, name }: Pick<PassRatePoint, 'suite' | 'name'>): string => suite ?? name;

/** Groups points by `seriesName`. The `linesMax` most recently evaluated series get a line. The other series are in `others`. */
export function seriesOf(points: readonly RatedPoint[], linesMax: number): RateSeriesSet {
  const byName = new Map<string, RatedPoint[]>();
  for (const point of points) {
    const name = seriesName(point);
    const pointsOfName = byName.get(name);
    if (pointsOfName === undefined) byName.set(name, [point]);
    else pointsOfName.push(point);
  }
  const latestFirst = [...byName]
    .map(([name, pointsOfName]) => ({ name, points: pointsOfName }))
    .sort((left, right) => right.points.at(-1)!.at - left.points.at(-1)!.at);
  const rest = latestFirst.slice(linesMax);
  return {
    lines: latestFirst.slice(0, linesMax),
    others: { suiteCount: rest.length, points: rest.flatMap(({ points: pointsOfName }) => pointsOfName) },
  };
}

/**
 * Selects the times of points that an axis labels. `moments` are in ascending order, in milliseconds since 1970. Adjacent labels differ,
 * and their times are at least `distanceMs` apart.
 */
export function labeledMoments(moments: readonly number[], distanceMs: number, formatLabel: (at: number) => string): number[] {
  const labeled: number[] = [];
  for (const at of moments) {
    const previous = labeled.at(-1);
    if (previous === undefined || (at - previous >= distanceMs && formatLabel(at) !== formatLabel(previous))) labeled.push(at);
  }
  return labeled;
}
