import { useMemo, useState } from 'react';
import uPlot from 'uplot';
import { formatDay } from '../components/time-format.ts';
import styles from './day-bars.module.css';
import { AXIS_FONT, axisWidth, type Palette, Plot } from './plot.tsx';

/** The value of one UTC day (YYYY-MM-DD). `highlighted` is the part of `value` that has another color in the chart, if there is one. */
export interface DayValue {
  day: string;
  value: number;
  highlighted?: number;
}

const HEIGHT_PX = 132;

/** A bar chart by day, with the total above it. Pointing at a day shows the value of the day. */
export function DayBars(props: {
  title: string;
  total: string;
  days: readonly DayValue[];
  format: (value: number) => string;
  /** A shorter format for the axis. */
  formatShort?: (value: number) => string;
  /** The text after the highlighted number, such as `other than success`. */
  highlightLabel?: string;
}) {
  const { title, total, days, format, formatShort = format, highlightLabel } = props;
  const [pointedIndex, setPointedIndex] = useState<number | null>(null);
  const data = useMemo<uPlot.AlignedData>(
    () => [days.map((_day, index) => index), days.map(({ value }) => value), days.map(({ highlighted }) => highlighted ?? 0)],
    [days],
  );
  const options = useMemo(() => optionsOf(days, formatShort, setPointedIndex), [days, formatShort]);
  const pointedDay = pointedIndex === null ? undefined : days[pointedIndex];
  const highlighted = (pointedDay === undefined ? days : [pointedDay]).reduce((sum, each) => sum + (each.highlighted ?? 0), 0);
  return (
    <section className={styles.bars}>
      <h3>{title}</h3>
      <p className={styles.figure}>
        <strong>{pointedDay === undefined ? total : format(pointedDay.value)}</strong>
        <span>{pointedDay === undefined ? `in ${days.length} days` : formatDay(pointedDay.day)}</span>
        {highlighted > 0 && highlightLabel !== undefined && (
          <span className={styles.highlighted}>{`${format(highlighted)} ${highlightLabel}`}</span>
        )}
      </p>
      <Plot
        label={`${title} by day: ${total} in ${days.length} days`}
        heightPx={HEIGHT_PX}
        data={data}
        options={options}
        table={
          <table>
            <thead>
              <tr>
                <th scope="col">Day (UTC)</th>
                <th scope="col">{title}</th>
                {highlightLabel !== undefined && <th scope="col">{highlightLabel}</th>}
              </tr>
            </thead>
            <tbody>
              {days.map(({ day, value, highlighted: part }) => (
                <tr key={day}>
                  <td>{day}</td>
                  <td>{format(value)}</td>
                  {highlightLabel !== undefined && <td>{format(part ?? 0)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        }
      />
    </section>
  );
}

const optionsOf =
  (days: readonly DayValue[], format: (value: number) => string, onPoint: (index: number | null) => void) =>
  (palette: Palette): Omit<uPlot.Options, 'width' | 'height'> => {
    const bars = uPlot.paths.bars?.({ size: [0.66, 26], radius: 0.12 });
    const axis = { font: AXIS_FONT, stroke: palette.faint, ticks: { show: false } };
    return {
      padding: [8, 18, 0, 0],
      legend: { show: false },
      cursor: { y: false, x: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: [-0.6, days.length - 0.4] },
        y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          size: 22,
          gap: 4,
          grid: { show: false },
          splits: () => [0, Math.floor((days.length - 1) / 2), days.length - 1],
          values: (_plot, splits) => splits.map((index) => formatDay(days[index]?.day ?? 0)),
        },
        {
          ...axis,
          size: (_plot, values) => axisWidth(values),
          gap: 4,
          grid: { stroke: palette.line, width: 1 },
          space: 34,
          values: (_plot, splits) => splits.map((value) => format(value)),
        },
      ],
      series: [
        {},
        {
          fill: palette.accent,
          stroke: palette.accent,
          width: 0,
          ...(bars === undefined ? {} : { paths: bars }),
          points: { show: false },
        },
        {
          fill: palette.warn,
          stroke: palette.warn,
          width: 0,
          ...(bars === undefined ? {} : { paths: bars }),
          points: { show: false },
        },
      ],
      hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
    };
  };
