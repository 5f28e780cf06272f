import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { Item } from '../../api/call.ts';
import { type Column, rowLink } from '../../lists/data-table.tsx';
import { Cut } from '../../pieces/cut.tsx';
import { count, dollars, duration } from '../../pieces/figures.ts';
import { Outcome } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';

type Run = Item<'runs.list'>;

/** Runs as every list shows them: traces and telemetry events alike. */
export const runColumns = (workspace: string, { withAgent = true }: { withAgent?: boolean } = {}): Column<Run>[] => [
  { title: 'Run', wide: true, cell: (run) => <RunLink run={run} workspace={workspace} /> },
  ...(withAgent
    ? [
        {
          title: 'Agent',
          cell: ({ agent, provisional_agent_name }: Run) =>
            agent === null ? <span className="faint">{provisional_agent_name ?? 'none'}</span> : <Cut text={agent.name} />,
        },
      ]
    : []),
  {
    title: 'Outcome',
    cell: ({ outcome, has_error }) => (
      <span className="row nowrap">
        <Outcome outcome={outcome} />
        {has_error && (
          <span data-hint="It reported an error">
            <IconAlertTriangle size={15} color="var(--bad)" aria-label="with an error" />
          </span>
        )}
      </span>
    ),
  },
  {
    title: 'Steps',
    numeric: true,
    cell: ({ source, span_count }) => (source === 'trace' ? count(span_count) : <span className="faint">event</span>),
  },
  { title: 'Tokens', numeric: true, cell: ({ total_tokens }) => count(total_tokens) },
  { title: 'Cost', numeric: true, cell: ({ cost_usd }) => dollars(cost_usd) },
  { title: 'Duration', numeric: true, cell: ({ latency_ms }) => duration(latency_ms) },
  { title: 'Received', cell: ({ received_at }) => <When at={received_at} /> },
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
