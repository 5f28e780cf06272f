import type { PassRatePoint } from '@countersign/core/portal/agent-routes';
import { expect, test } from 'vitest';
import { labeledMoments, ratedPoints, seriesOf } from '../src/charts/pass-rate-series.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-01-05T09:00:00Z');

const point = (hour: number, name: string, more: Partial<PassRatePoint> = {}): PassRatePoint => ({
  evaluation_id: '00000000-0000-7000-8000-000000000000',
  name,
  suite: null,
  recorded_at: new Date(START + hour * HOUR_MS).toISOString(),
  status: 'passing',
  pass_rate: 90,
  harness_id: null,
  approval: null,
  ...more,
});

test('pass rates are grouped by suite, or by evaluation name if there is no suite; the group with the latest rate is first', () => {
  const points = [
    point(1, 'run 1', { suite: 'safety', pass_rate: 20 }),
    point(2, 'regression'),
    point(3, 'run 2', { suite: 'safety', pass_rate: 30 }),
    point(4, 'regression', { pass_rate: null, status: 'running' }),
  ];
  const { lines, others } = seriesOf(ratedPoints(points), 5);
  expect(lines.map(({ name, points: linePoints }) => [name, linePoints.map(({ pass_rate }) => pass_rate)])).toEqual([
    ['safety', [20, 30]],
    ['regression', [90]],
  ]);
  expect(others).toEqual({ suiteCount: 0, points: [] });
});

test('the most recently evaluated suites have lines, and the points of all other suites are kept', () => {
  const points = Array.from({ length: 40 }, (_each, hour) => point(hour, `suite-${hour % 8}`));
  const { lines, others } = seriesOf(ratedPoints(points), 5);
  expect(lines.map(({ name }) => name)).toEqual(['suite-7', 'suite-6', 'suite-5', 'suite-4', 'suite-3']);
  expect(others.suiteCount).toBe(3);
  expect(lines.flatMap(({ points: linePoints }) => linePoints).length + others.points.length).toBe(40);
});

test('points are sorted by time, even if a clock stepped back, and points without a pass rate are omitted', () => {
  const rated = ratedPoints([point(3, 'a'), point(1, 'a'), point(2, 'a', { pass_rate: null })]);
  expect(rated.map(({ at }) => (at - START) / HOUR_MS)).toEqual([1, 3]);
});

test('only times of points are labeled, without duplicates and at least the given distance apart', () => {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const moments = [0, 1, 2, 26, 27, 50, 51, 400].map((hour) => START + hour * HOUR_MS);
  expect(labeledMoments(moments, 1, day).map(day)).toEqual(['2026-01-05', '2026-01-06', '2026-01-07', '2026-01-22']);
  expect(labeledMoments(moments, 48 * HOUR_MS, day).map(day)).toEqual(['2026-01-05', '2026-01-07', '2026-01-22']);
});
