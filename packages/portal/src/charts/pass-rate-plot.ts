import type uPlot from 'uplot';
import { formatLocalDay, formatTimeOfDay } from '../components/time-format.ts';
import { labeledMoments, type RatedPoint, type RateSeriesSet } from './pass-rate-series.ts';
import { AXIS_FONT, type Palette } from './plot.tsx';
import { OTHER_MARK, SERIES_MARKS } from './series-mark.tsx';

const HOUR_MS = 3_600_000;
/** The minimum time range of the chart. */
const SPAN_MIN_MS = HOUR_MS;
/** If the time range is shorter than this, the labels of the time axis are times of day, otherwise days. */
const HOUR_LABELS_BELOW_MS = 48 * HOUR_MS;
/** The minimum distance between labels of the time axis. */
const LABEL_DISTANCE_PX = 64;

/** The options of the pass rate chart. Its data has a column of times, a column for each line, and a column for the other points. */
export const passRatePlot =
  (series: RateSeriesSet, threshold: number, onPoint: (index: number | null) => void) =>
  (palette: Palette): Omit<uPlot.Options, 'width' | 'height'> => {
    const axis = { font: AXIS_FONT, stroke: palette.faint, ticks: { show: false } };
    const moments = [...series.lines, series.others]
      .flatMap(({ points }) => points.map(({ at }) => at))
      .sort((left, right) => left - right);
    const range = rangeOf(moments);
    const formatLabel = range.to - range.from < HOUR_LABELS_BELOW_MS ? formatTimeOfDay : formatLocalDay;
    return {
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { time: true, range: [range.from / 1000, range.to / 1000] },
        y: { range: (_plot, min) => [Math.max(0, Math.floor((Math.min(min ?? 100, threshold) - 8) / 10) * 10), 102] },
      },
      axes: [
        {
          ...axis,
          size: 26,
          grid: { show: false },
          splits: (plot) => {
            const distanceMs = ((range.to - range.from) * LABEL_DISTANCE_PX) / Math.max(plot.width, LABEL_DISTANCE_PX);
            return labeledMoments(moments, distanceMs, formatLabel).map((at) => at / 1000);
          },
          values: (_plot, splits) => splits.map((moment) => formatLabel(moment * 1000)),
        },
        {
          ...axis,
          size: 44,
          gap: 4,
          grid: { stroke: palette.line, width: 1 },
          values: (_plot, splits) => splits.map((each) => (each > 100 ? '' : `${each} %`)),
        },
      ],
      series: [
        {},
        ...series.lines.map((_line, index) => ({
          stroke: palette.series[index]!,
          dash: [...SERIES_MARKS[index]!.dash],
          width: 1.5,
          spanGaps: true,
          points: { show: false },
        })),
        { paths: () => null, points: { show: false } },
      ],
      hooks: {
        setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)],
        draw: [
          (plot) => {
            drawThreshold(plot, threshold, palette);
            drawPoints(plot, series.others.points, OTHER_MARK.path, palette);
            series.lines.forEach(({ points }, index) => {
              drawPoints(plot, points, SERIES_MARKS[index]!.path, palette);
            });
          },
        ],
      },
    };
  };

/** The time range of the chart: from the first to the last point, with a margin on both sides. */
function rangeOf(moments: readonly number[]): { from: number; to: number } {
  const [first, last] = [moments[0] ?? 0, moments.at(-1) ?? 0];
  const margin = last - first < SPAN_MIN_MS ? SPAN_MIN_MS / 2 : (last - first) * 0.03;
  return { from: first - margin, to: last + margin };
}

/** Draws the threshold as a dashed line. */
function drawThreshold({ ctx, bbox, valToPos }: uPlot, threshold: number, palette: Palette): void {
  const y = valToPos(threshold, 'y', true);
  ctx.save();
  ctx.strokeStyle = palette.warn;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

/** Draws a mark for each evaluation in the color of its status. */
function drawPoints({ ctx, valToPos }: uPlot, points: readonly RatedPoint[], path: string, palette: Palette): void {
  const mark = new Path2D(path);
  for (const { at, pass_rate, status } of points) {
    ctx.save();
    ctx.translate(valToPos(at / 1000, 'x', true), valToPos(pass_rate, 'y', true));
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.fillStyle = status === 'passing' ? palette.good : status === 'failing' ? palette.bad : palette.faint;
    ctx.fill(mark);
    ctx.lineWidth = 1.5;
    ctx.strokeStyle = palette.surface;
    ctx.stroke(mark);
    ctx.restore();
  }
}
