import { SegmentedControl } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { DayBars } from '../../charts/day-bars.tsx';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { formatDollars, formatShortCount, formatShortDollars } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import styles from './usage-charts.module.css';

type Day = ResponseBody<'overview.usage'>['days'][number];

/** A panel with charts of runs, tokens and cost by day. */
export function UsageCharts() {
  const { workspace } = useWorkspace();
  const [days, setDays] = useState('14');
  const usage = useQuery({
    queryKey: ['usage', workspace.id, days],
    queryFn: ({ signal }) => call('overview.usage', { params: { workspace: workspace.id }, query: { days }, signal }),
    placeholderData: keepPreviousData,
  });
  return (
    <Panel
      title="Usage by day"
      note={
        'Days are in UTC. All stored traces and telemetry events are counted, also arriving and incomplete traces. ' +
        '"Other than success" counts the runs with any other outcome, but not arriving and incomplete traces.'
      }
      actions={
        <SegmentedControl
          size="xs"
          value={days}
          onChange={setDays}
          aria-label="Period"
          data={['14', '30', '90'].map((value) => ({ value, label: `${value} days` }))}
        />
      }
    >
      {usage.isError && <ProblemNotice problem={usage.error} retry={() => void usage.refetch()} />}
      {usage.data !== undefined ? <Charts days={usage.data.days} /> : usage.isPending && <BlockSkeleton heightPx={200} />}
    </Panel>
  );
}

function Charts({ days }: { days: readonly Day[] }) {
  const runs = useMemo(() => days.map(({ day, runs: value, failures: highlighted }) => ({ day, value, highlighted })), [days]);
  const tokens = useMemo(() => days.map(({ day, total_tokens: value }) => ({ day, value })), [days]);
  const cost = useMemo(() => days.map(({ day, cost_usd }) => ({ day, value: Number(cost_usd) })), [days]);
  const sum = (figures: readonly { value: number }[]) => figures.reduce((all, { value }) => all + value, 0);
  return (
    <div className={styles.charts}>
      <DayBars
        title="Runs"
        days={runs}
        total={formatShortCount(sum(runs))}
        format={formatShortCount}
        highlightLabel="other than success"
      />
      <DayBars title="Tokens" days={tokens} total={formatShortCount(sum(tokens))} format={formatShortCount} />
      <DayBars
        title="Cost"
        days={cost}
        total={formatDollars(sum(cost))}
        format={formatDollars}
        formatShort={formatShortDollars}
      />
    </div>
  );
}
