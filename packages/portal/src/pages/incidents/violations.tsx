import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Link } from '@tanstack/react-router';
import { call, type ListItem } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SeverityBadge } from '../../components/status-badges.tsx';
import { TruncatedText } from '../../components/truncated-text.tsx';
import { FilterAgent } from '../../lists/agent-select.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import { type Column, rowLink } from '../../lists/data-table.tsx';
import { EmptyState, ExampleRequest } from '../../lists/empty-state.tsx';
import { FilterBar } from '../../lists/filter-bar.tsx';
import { useFilters } from '../../lists/use-filters.ts';

type Violation = ListItem<'violations.list'>;

/** The list of the policy violations in the audit ledger. */
export function Violations() {
  const { workspace } = useWorkspace();
  const filters = useFilters(['agent_id']);
  return (
    <>
      <FilterBar filters={filters}>
        <FilterAgent filters={filters} name="agent_id" />
      </FilterBar>
      <Panel flush>
        <CursorList
          label="Policy violations"
          queryKey={['violations', workspace.id]}
          load={(cursor, signal) =>
            call('violations.list', {
              params: { workspace: workspace.id },
              query: { ...(filters.values as object), cursor },
              signal,
            })
          }
          filters={filters}
          columns={columnsOf(workspace.id)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState title="No policy violations">
              <p>
                An admin can record a violation here. A guardrail can also send violations to the ledger, as in this example. To
                link a violation to an agent, add the member agent_id.
              </p>
              <ExampleRequest
                path="/api/public/audit"
                body={{
                  actor: 'guardrail:refunds',
                  action: 'policy.violation',
                  subject: EXAMPLE_AGENT,
                  metadata: { policy: 'no-refunds-without-receipt', severity: 'medium' },
                }}
                scope="audit"
              />
            </EmptyState>
          }
        />
      </Panel>
    </>
  );
}

const columnsOf = (workspace: string): Column<Violation>[] => [
  {
    title: 'Policy',
    wide: true,
    cell: ({ seq, policy, description }) => (
      <>
        <Link className={rowLink} to="/w/$workspace/ledger/$seq" params={{ workspace, seq: String(seq) }}>
          {policy ?? `entry ${seq}`}
        </Link>
        {description !== null && <span className="soft break"> · {description}</span>}
      </>
    ),
  },
  {
    title: 'Agent',
    cell: ({ agent }) => (agent === null ? <span className="faint">–</span> : <TruncatedText text={visibleSpaces(agent.name)} />),
  },
  { title: 'Severity', cell: ({ severity }) => <SeverityBadge severity={severity} /> },
  {
    title: 'Run',
    cell: ({ trace_id }) => (trace_id === null ? <span className="faint">–</span> : <TruncatedText text={trace_id} />),
    wideOnly: true,
  },
  { title: 'Recorded by', cell: ({ recorded_by }) => <Actor by={recorded_by} />, wideOnly: true },
  { title: 'Recorded', cell: ({ recorded_at }) => <RelativeTime at={recorded_at} /> },
];
