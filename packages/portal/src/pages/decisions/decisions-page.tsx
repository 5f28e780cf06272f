import { call } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { REASON_LABELS } from '../../components/status-badges.tsx';
import { FilterAgent } from '../../lists/agent-select.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import { EmptyState, ExampleRequest } from '../../lists/empty-state.tsx';
import { FilterBar, FilterDays, FilterSelect } from '../../lists/filter-bar.tsx';
import { startOfDay, useFilters } from '../../lists/use-filters.ts';
import { decisionColumns } from './decision-columns.tsx';

/** The page with all promotion decisions, latest first. */
export function DecisionsPage() {
  const { workspace } = useWorkspace();
  const filters = useFilters(['agent_id', 'allowed', 'reason', 'evaluation_id', 'from', 'to']);
  const { from, to, ...others } = filters.values;
  return (
    <>
      <PageHeader title="Decisions" lead="Every promotion decision, signed and stored exactly as it was returned." />
      <FilterBar filters={filters}>
        <FilterAgent filters={filters} name="agent_id" />
        <FilterSelect
          filters={filters}
          name="allowed"
          label="Decision"
          all="Allowed and blocked"
          options={[
            { value: 'true', label: 'Allowed' },
            { value: 'false', label: 'Blocked' },
          ]}
        />
        <FilterSelect
          filters={filters}
          name="reason"
          label="Reason"
          all="Any reason"
          options={Object.entries(REASON_LABELS).map(([value, label]) => ({ value, label }))}
        />
        <FilterDays filters={filters} />
      </FilterBar>
      <Panel flush>
        <CursorList
          label="Decisions"
          queryKey={['decisions', workspace.id]}
          load={(cursor, signal) =>
            call('decisions.list', {
              params: { workspace: workspace.id },
              query: { ...(others as object), from: startOfDay(from), to: startOfDay(to, 1), cursor },
              signal,
            })
          }
          filters={filters}
          columns={decisionColumns(workspace.id)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState title="No decisions yet">
              <p>
                A deployment requests a decision before it promotes an agent. Each decision is signed and listed here with its
                reason. Request a decision:
              </p>
              <ExampleRequest
                path="/api/public/governance/promotion-check"
                body={{ agent_name: EXAMPLE_AGENT, min_pass_rate: 90, max_age_hours: 24 }}
                scope="governance"
              />
            </EmptyState>
          }
        />
      </Panel>
    </>
  );
}
