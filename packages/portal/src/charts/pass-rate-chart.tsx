import { useMemo, useState } from 'react';
import type uPlot from 'uplot';
import type { ResponseBody } from '../api/call.ts';
import { formatCount, formatCountOf, formatPercent } from '../components/number-format.ts';
import { formatExactTime } from '../components/time-format.ts';
import { TruncatedText } from '../components/truncated-text.tsx';
import styles from './pass-rate-chart.module.css';
import { passRatePlot } from './pass-rate-plot.ts';
import { type RatedPoint, type RateSeriesSet, ratedPoints, seriesName, seriesOf } from './pass-rate-series.ts';
import { Plot, SERIES_COLOR_COUNT, ValueTable } from './plot.tsx';
import { SeriesMark } from './series-mark.tsx';

const HEIGHT_PX = 220;

/**
 * The pass rates of an agent's evaluations over time, with the threshold. Each evaluation with a pass rate has a mark. The most recently
 * evaluated suites also have a line.
 */
export function PassRateChart({ rates }: { rates: ResponseBody<'agents.pass_rates'> }) {
  const { points, threshold, more } = rates;
  const [pointedIndex, setPointedIndex] = useState<number | null>(null);
  const rated = useMemo(() => ratedPoints(points), [points]);
  const series = useMemo(() => seriesOf(rated, SERIES_COLOR_COUNT), [rated]);
  const data = useMemo(() => alignedData(rated, series), [rated, series]);
  const options = useMemo(() => passRatePlot(series, threshold, setPointedIndex), [series, threshold]);
  const displayedPoint = rated[pointedIndex ?? rated.length - 1];
  const table = <PointTable points={points} />;
  if (displayedPoint === undefined) {
    return (
      <>
        <p className="soft">
          {more ? `None of the latest ${formatCount(points.length)} evaluations` : 'No evaluation'} of this agent reported a pass
          rate.
        </p>
        <ValueTable>{table}</ValueTable>
      </>
    );
  }
  const suiteCount = series.lines.length + series.others.suiteCount;
  const inSuites = `in ${suiteCount === 1 ? 'one suite' : `${suiteCount} suites`} over time`;
  const latest = formatPercent(rated.at(-1)?.pass_rate);
  const evaluations = formatCountOf(rated.length, 'evaluation', 'evaluations');
  return (
    <div>
      <p className={styles.reading}>
        <strong>{formatPercent(displayedPoint.pass_rate)}</strong>
        <span>
          <bdi>{displayedPoint.name}</bdi>
          {seriesName(displayedPoint) !== displayedPoint.name && (
            <>
              {' '}
              (suite <bdi>{seriesName(displayedPoint)}</bdi>)
            </>
          )}
          , {displayedPoint.status}, {formatExactTime(displayedPoint.recorded_at)}
        </span>
        <span className={styles.threshold}>threshold {formatPercent(threshold)}</span>
      </p>
      {suiteCount > 1 && <Legend series={series} />}
      <Plot
        label={`Pass rate of ${evaluations} ${inSuites}, threshold ${formatPercent(threshold)}; the latest is ${latest}`}
        heightPx={HEIGHT_PX}
        data={data}
        options={options}
        table={table}
      />
      {more && <p className="faint">Only the latest {formatCount(points.length)} evaluations are shown.</p>}
    </div>
  );
}

/** The data of the chart: the times in seconds, then a column for each line, then one column for the other points. */
function alignedData(rated: readonly RatedPoint[], { lines, others }: RateSeriesSet): uPlot.AlignedData {
  const column = (points: readonly RatedPoint[]) => {
    const pointsOfColumn = new Set(points);
    return rated.map((point) => (pointsOfColumn.has(point) ? point.pass_rate : null));
  };
  return [rated.map(({ at }) => at / 1000), ...lines.map(({ points }) => column(points)), column(others.points)];
}

/** The legend: each suite that has a line, with its latest pass rate, and the number of other suites. */
const Legend = ({ series: { lines, others } }: { series: RateSeriesSet }) => (
  <ul className={styles.legend} aria-label="Suites">
    {lines.map(({ name, points }, index) => (
      <li key={name}>
        <SeriesMark series={index} />
        <TruncatedText text={name} />
        <span className={styles.latest}>{formatPercent(points.at(-1)?.pass_rate)}</span>
      </li>
    ))}
    {others.suiteCount > 0 && (
      <li>
        <SeriesMark series={null} />
        <span>
          {formatCount(others.suiteCount)} other {others.suiteCount === 1 ? 'suite' : 'suites'}
        </span>
      </li>
    )}
  </ul>
);

const PointTable = ({ points }: { points: ResponseBody<'agents.pass_rates'>['points'] }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Recorded</th>
        <th scope="col">Evaluation</th>
        <th scope="col">Suite</th>
        <th scope="col">Status</th>
        <th scope="col">Pass rate</th>
      </tr>
    </thead>
    <tbody>
      {points.map(({ evaluation_id, recorded_at, name, suite, status, pass_rate }) => (
        <tr key={evaluation_id}>
          <td>{formatExactTime(recorded_at)}</td>
          <td>{name}</td>
          <td>{suite ?? '–'}</td>
          <td>{status}</td>
          <td>{formatPercent(pass_rate)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);
