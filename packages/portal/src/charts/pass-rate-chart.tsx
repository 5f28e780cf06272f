import { useMemo, useState } from 'react';
import type uPlot from 'uplot';
import type { Answer } from '../api/call.ts';
import { percent } from '../pieces/figures.ts';
import { exactTime, shortDay } from '../pieces/times.ts';
import styles from './pass-rate-chart.module.css';
import { AXIS_FONT, type Palette, Plot } from './plot.tsx';

type Rates = Answer<'agents.pass_rates'>;
type Point = Rates['points'][number];

const HEIGHT = 220;

/** The pass rate of an agent's evaluations over time, against the threshold: a point for each, green where it passed. */
export function PassRateChart({ rates }: { rates: Rates }) {
  const { points, threshold } = rates;
  const [pointed, setPointed] = useState<number | null>(null);
  const data = useMemo<uPlot.AlignedData>(
    () => [points.map(({ recorded_at }) => Date.parse(recorded_at) / 1000), points.map(({ pass_rate }) => pass_rate)],
    [points],
  );
  const options = useMemo(() => optionsOf(points, threshold, setPointed), [points, threshold]);
  const read = points[pointed ?? points.length - 1];
  return (
    <div>
      <p className={styles.reading}>
        {read !== undefined && (
          <>
            <strong>{percent(read.pass_rate)}</strong>
            <span>
              <bdi>{read.name}</bdi>, {read.status}, {exactTime(read.recorded_at)}
            </span>
          </>
        )}
        <span className={styles.threshold}>threshold {percent(threshold)}</span>
      </p>
      <Plot
        label={`Pass rate of ${points.length} evaluations over time, threshold ${threshold} percent; the latest is ${percent(points.at(-1)?.pass_rate)}`}
        height={HEIGHT}
        data={data}
        options={options}
        table={<PointTable points={points} />}
      />
    </div>
  );
}

const PointTable = ({ points }: { points: readonly Point[] }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Recorded</th>
        <th scope="col">Evaluation</th>
        <th scope="col">Status</th>
        <th scope="col">Pass rate</th>
      </tr>
    </thead>
    <tbody>
      {points.map(({ evaluation_id, recorded_at, name, status, pass_rate }) => (
        <tr key={evaluation_id}>
          <td>{exactTime(recorded_at)}</td>
          <td>{name}</td>
          <td>{status}</td>
          <td>{percent(pass_rate)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

const MIN_SPAN_S = 3_600;

const optionsOf =
  (points: readonly Point[], threshold: number, point: (index: number | null) => void) =>
  (palette: Palette): Omit<uPlot.Options, 'width' | 'height'> => {
    const axis = { font: AXIS_FONT, stroke: palette.faint, ticks: { show: false } };
    return {
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: {
          time: true,
          range: (_plot, min, max) =>
            max - min < MIN_SPAN_S
              ? [min - MIN_SPAN_S / 2, max + MIN_SPAN_S / 2]
              : [min - (max - min) * 0.03, max + (max - min) * 0.03],
        },
        y: { range: (_plot, min) => [Math.max(0, Math.floor((Math.min(min ?? 100, threshold) - 8) / 10) * 10), 102] },
      },
      axes: [
        { ...axis, size: 26, grid: { show: false }, space: 90, values: momentLabels },
        {
          ...axis,
          size: 44,
          gap: 4,
          grid: { stroke: palette.line, width: 1 },
          values: (_plot, splits) => splits.map((each) => (each > 100 ? '' : `${each} %`)),
        },
      ],
      series: [{}, { stroke: palette.accent, width: 1.5, spanGaps: true, points: { show: false } }],
      hooks: {
        setCursor: [(plot) => point(plot.cursor.idx ?? null)],
        draw: [(plot) => drawMarks(plot, points, threshold, palette)],
      },
    };
  };

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const DAY_S = 86_400;

/** Hours where the points lie within two days, days beyond. */
function momentLabels(_plot: uPlot, splits: number[]): string[] {
  const span = (splits.at(-1) ?? 0) - (splits[0] ?? 0);
  return splits.map((moment) => (span < 2 * DAY_S ? hour.format(moment * 1000) : shortDay(moment * 1000)));
}

/** The threshold as a dashed line, and a dot for each evaluation in the colour of its status. */
function drawMarks(plot: uPlot, points: readonly Point[], threshold: number, palette: Palette): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const y = plot.valToPos(threshold, 'y', true);
  ctx.save();
  ctx.strokeStyle = palette.warn;
  ctx.lineWidth = ratio;
  ctx.setLineDash([5 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.setLineDash([]);
  for (const { recorded_at, pass_rate, status } of points) {
    if (pass_rate === null) continue;
    ctx.beginPath();
    ctx.arc(
      plot.valToPos(Date.parse(recorded_at) / 1000, 'x', true),
      plot.valToPos(pass_rate, 'y', true),
      4 * ratio,
      0,
      2 * Math.PI,
    );
    ctx.fillStyle = status === 'passing' ? palette.good : status === 'failing' ? palette.bad : palette.faint;
    ctx.fill();
    ctx.lineWidth = 1.5 * ratio;
    ctx.strokeStyle = palette.surface;
    ctx.stroke();
  }
  ctx.restore();
}
