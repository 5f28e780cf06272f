import type { PassRatePoint } from '@countersign/core/portal/agent-routes';

/** One that reported a pass rate, with its moment in milliseconds. */
export type RatedPoint = PassRatePoint & { pass_rate: number; at: number };

/** Pass rates that are compared with each other: those of one suite. */
export interface RateSeries {
  name: string;
  /** Oldest first, at least one. */
  points: readonly RatedPoint[];
}

/** The series of a chart. */
export interface RateSeriesSet {
  /** Each has a line of its own. The one that was evaluated last comes first. */
  lines: readonly RateSeries[];
  /** The points of all further suites, which no line connects; `suites` says how many these are. */
  others: { suites: number; points: readonly RatedPoint[] };
}

/** The evaluations that reported a pass rate, in the order of their moments. */
export const ratedPoints = (points: readonly PassRatePoint[]): RatedPoint[] =>
  points
    .flatMap((point) =>
      point.pass_rate === null ? [] : [{ ...point, pass_rate: point.pass_rate, at: Date.parse(point.recorded_at) }],
    )
    .sort((left, right) => left.at - right.at);

/** What a point is compared by: the name of its suite, or of the evaluation where no suite was sent. */
export const seriesName = ({ suite, name }: Pick<PassRatePoint, 'suite' | 'name'>): string => suite ?? name;

/** Groups points by suite. With more than `linesMax` suites, the ones evaluated last have a line and the rest are `others`. */
export function seriesOf(points: readonly RatedPoint[], linesMax: number): RateSeriesSet {
  const byName = new Map<string, RatedPoint[]>();
  for (const point of points) {
    const name = seriesName(point);
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [point]);
    else known.push(point);
  }
  const latestFirst = [...byName]
    .map(([name, ofName]) => ({ name, points: ofName }))
    .sort((left, right) => right.points.at(-1)!.at - left.points.at(-1)!.at);
  const further = latestFirst.slice(linesMax);
  return {
    lines: latestFirst.slice(0, linesMax),
    others: { suites: further.length, points: further.flatMap(({ points: ofName }) => ofName) },
  };
}

/**
 * The moments that an axis names: only moments of points, so that no day or hour is named that has no value. Each is at least
 * `distance` after the one before, and no two have the same label.
 */
export function namedMoments(moments: readonly number[], distance: number, label: (at: number) => string): number[] {
  const named: number[] = [];
  for (const at of moments) {
    const before = named.at(-1);
    if (before === undefined || (at - before >= distance && label(at) !== label(before))) named.push(at);
  }
  return named;
}
