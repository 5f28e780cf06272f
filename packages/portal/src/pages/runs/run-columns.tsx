import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../api/call.ts';
import { formatCount, formatDollars, formatDuration } from '../../components/number-format.ts';
import { RelativeTime } from '../../components/relative-time.tsx';
import { OutcomeBadge } from '../../components/status-badges.tsx';
import { TruncatedText } from '../../components/truncated-text.tsx';
import { type Column, rowLink } from '../../lists/data-table.tsx';

type Run = ListItem<'runs.list'>;

/** The columns of run lists, for traces and telemetry events. */
export const runColumns = (workspace: string, { withAgent = true }: { withAgent?: boolean } = {}): Column<Run>[] => [
  { title: 'Run', wide: true, cell: (run) => <RunLink run={run} workspace={workspace} /> },
  ...(withAgent
    ? [
        {
          title: 'Agent',
          cell: ({ agent, provisional_agent_name }: Run) =>
            agent === null ? (
              <span className="faint">{visibleSpaces(provisional_agent_name ?? 'none')}</span>
            ) : (
              <TruncatedText text={visibleSpaces(agent.name)} />
            ),
        },
      ]
    : []),
  {
    title: 'Outcome',
    cell: ({ outcome, has_error }) => (
      <span className="row nowrap">
        <OutcomeBadge outcome={outcome} />
        {has_error && (
          <span data-hint="The run reported an error">
            <IconAlertTriangle size={15} color="var(--bad)" aria-label="with an error" />
          </span>
        )}
      </span>
    ),
  },
  {
    title: 'Steps',
    numeric: true,
    cell: ({ source, span_count }) => (source === 'trace' ? formatCount(span_count) : <span className="faint">event</span>),
  },
  { title: 'Tokens', numeric: true, cell: ({ total_tokens }) => formatCount(total_tokens) },
  { title: 'Cost', numeric: true, cell: ({ cost_usd }) => formatDollars(cost_usd) },
  { title: 'Duration', numeric: true, cell: ({ latency_ms }) => formatDuration(latency_ms) },
  { title: 'Received', cell: ({ received_at }) => <RelativeTime at={received_at} /> },
];

function RunLink({ run, workspace }: { run: Run; workspace: string }) {
  const { source, id, ordinal, trace_id } = run;
  return source === 'trace' ? (
    <Link className={rowLink} to="/w/$workspace/runs/traces/$trace" params={{ workspace, trace: id }}>
      {trace_id}
    </Link>
  ) : (
    <Link
      className={rowLink}
      to="/w/$workspace/runs/events/$submission/$ordinal"
      params={{ workspace, submission: id, ordinal: String(ordinal ?? 0) }}
    >
      {trace_id}
    </Link>
  );
}
