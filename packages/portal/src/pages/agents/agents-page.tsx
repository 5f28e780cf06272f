import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call, type ListItem } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { LoadedContent } from '../../components/loaded-content.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { PromotionStatus } from '../../components/promotion-status.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SimilarAgents } from '../../components/similar-agents.tsx';
import { EvaluationStatusBadge, ExampleBadge, RiskBadge } from '../../components/status-badges.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import { type Column, rowLink } from '../../lists/data-table.tsx';
import { EmptyState, ExampleRequest } from '../../lists/empty-state.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../lists/filter-bar.tsx';
import { useFilters } from '../../lists/use-filters.ts';

type Agent = ListItem<'agents.list'>;

/** The page with the agents that reported runs or were evaluated. Archived agents are listed only if the filter includes them. */
export function AgentsPage() {
  const { workspace } = useWorkspace();
  const filters = useFilters(['search', 'risk_level', 'archived']);
  return (
    <>
      <PageHeader title="Agents" lead="Agents that reported a run or were evaluated, and whether each can be promoted now." />
      <FilterBar filters={filters}>
        <FilterText filters={filters} name="search" label="Name" placeholder="Search by name" />
        <FilterSelect
          filters={filters}
          name="risk_level"
          label="Risk level"
          all="Any risk level"
          options={[
            { value: 'high', label: 'High risk' },
            { value: 'low', label: 'Low risk' },
          ]}
        />
        <FilterSelect
          filters={filters}
          name="archived"
          label="Archived"
          all="Not archived"
          options={[
            { value: 'included', label: 'Include archived' },
            { value: 'only', label: 'Archived only' },
          ]}
        />
      </FilterBar>
      <Panel flush>
        <CursorList
          label="Agents"
          queryKey={['agents', workspace.id]}
          load={(cursor, signal) =>
            call('agents.list', {
              params: { workspace: workspace.id },
              query: { ...(filters.values as object), ...(cursor === undefined ? {} : { cursor }) },
              signal,
            })
          }
          filters={filters}
          columns={columnsOf(workspace.id)}
          keyOf={({ id }) => id}
          empty={<NoAgents />}
        />
      </Panel>
    </>
  );
}

/** Replaces the empty list. Its text depends on whether there are archived agents. */
function NoAgents() {
  const { workspace } = useWorkspace();
  const archived = useQuery({
    queryKey: ['agents', workspace.id, 'archived'],
    queryFn: ({ signal }) =>
      call('agents.list', { params: { workspace: workspace.id }, query: { archived: 'only', limit: '1' }, signal }),
  });
  return (
    <LoadedContent query={archived} skeleton={null} inset what="The list of archived agents">
      {({ items }) => (items.length > 0 ? <OnlyArchivedAgents /> : <NoAgentsYet />)}
    </LoadedContent>
  );
}

const OnlyArchivedAgents = () => (
  <EmptyState title="No active agents">
    <p>All agents are archived. To see them, use the filter above.</p>
  </EmptyState>
);

const NoAgentsYet = () => (
  <EmptyState title="No agents yet">
    <p>Agents appear automatically with their first run or evaluation. You do not need to register them.</p>
    <ExampleRequest
      path="/api/public/telemetry"
      body={{ trace_id: 'run-1', outcome: 'success', agent_name: EXAMPLE_AGENT }}
      scope="telemetry"
    />
  </EmptyState>
);

const columnsOf = (workspace: string): Column<Agent>[] => [
  {
    title: 'Agent',
    wide: true,
    cell: ({ id, name, similar_to }) => (
      <span className="row">
        <Link className={rowLink} to="/w/$workspace/agents/$agent" params={{ workspace, agent: id }}>
          {visibleSpaces(name)}
        </Link>
        <ExampleBadge agent={name} />
        <SimilarAgents workspace={workspace} agents={similar_to} />
      </span>
    ),
  },
  {
    title: 'Promotable now',
    wide: true,
    line: true,
    cell: (agent) => <PromotionStatus agent={agent} />,
  },
  { title: 'Risk', cell: ({ risk_level }) => <RiskBadge level={risk_level} /> },
  {
    title: 'Latest evaluation',
    cell: ({ latest_evaluation: latest }) =>
      latest === null ? <span className="faint">none</span> : <EvaluationStatusBadge status={latest.status} />,
  },
  { title: 'Pass rate', numeric: true, cell: ({ latest_evaluation: latest }) => formatPercent(latest?.pass_rate) },
  { title: 'Last seen', cell: ({ last_seen_at }) => <RelativeTime at={last_seen_at} /> },
];
