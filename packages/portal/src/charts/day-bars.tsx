import { useMemo, useState } from 'react';
import uPlot from 'uplot';
import { formatDay } from '../components/time-format.ts';
import styles from './day-bars.module.css';
import { AXIS_FONT, axisRoom, type Palette, Plot } from './plot.tsx';

/** One day's figure, and the part of it that went wrong where that is known. */
export interface DayFigure {
  day: string;
  value: number;
  bad?: number;
}

const HEIGHT = 132;

/** A figure by day: its sum above, a bar for each day, what went wrong in red at its foot, and said in the same colour. Pointing at a day reads it out. */
export function DayBars(props: {
  title: string;
  total: string;
  days: readonly DayFigure[];
  show: (value: number) => string;
  /** The same where there is little room: on the axis. */
  showShort?: (value: number) => string;
  badWord?: string;
}) {
  const { title, total, days, show, showShort = show, badWord } = props;
  const [pointed, setPointed] = useState<number | null>(null);
  const data = useMemo<uPlot.AlignedData>(
    () => [days.map((_day, index) => index), days.map(({ value }) => value), days.map(({ bad }) => bad ?? 0)],
    [days],
  );
  const options = useMemo(() => optionsOf(days, showShort, setPointed), [days, showShort]);
  const read = pointed === null ? undefined : days[pointed];
  const bad = (read === undefined ? days : [read]).reduce((sum, each) => sum + (each.bad ?? 0), 0);
  return (
    <section className={styles.bars}>
      <h3>{title}</h3>
      <p className={styles.figure}>
        <strong>{read === undefined ? total : show(read.value)}</strong>
        <span>{read === undefined ? `in ${days.length} days` : formatDay(read.day)}</span>
        {bad > 0 && badWord !== undefined && <span className={styles.bad}>{`${show(bad)} ${badWord}`}</span>}
      </p>
      <Plot
        label={`${title} by day: ${total} in ${days.length} days`}
        height={HEIGHT}
        data={data}
        options={options}
        table={
          <table>
            <thead>
              <tr>
                <th scope="col">Day (UTC)</th>
                <th scope="col">{title}</th>
                {badWord !== undefined && <th scope="col">{badWord}</th>}
              </tr>
            </thead>
            <tbody>
              {days.map(({ day, value, bad: wrong }) => (
                <tr key={day}>
                  <td>{day}</td>
                  <td>{show(value)}</td>
                  {badWord !== undefined && <td>{wrong ?? 0}</td>}
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
  (days: readonly DayFigure[], show: (value: number) => string, point: (index: number | null) => void) =>
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
          size: (_plot, values) => axisRoom(values),
          gap: 4,
          grid: { stroke: palette.line, width: 1 },
          space: 34,
          values: (_plot, splits) => splits.map((value) => show(value)),
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
          fill: palette.bad,
          stroke: palette.bad,
          width: 0,
          ...(bars === undefined ? {} : { paths: bars }),
          points: { show: false },
        },
      ],
      hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
    };
  };
