import { call } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { FilterAgent } from '../../lists/agent-select.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import { EmptyState, ExampleRequest } from '../../lists/empty-state.tsx';
import { FilterBar, FilterDays, FilterSelect, FilterText } from '../../lists/filter-bar.tsx';
import { startOfDay, useFilters } from '../../lists/use-filters.ts';
import { evaluationColumns } from './evaluation-columns.tsx';

/** The page with all evaluations, newest first. */
export function EvaluationsPage() {
  const { workspace } = useWorkspace();
  const filters = useFilters(['agent_id', 'status', 'harness_id', 'from', 'to']);
  const { from, to, ...others } = filters.values;
  return (
    <>
      <PageHeader
        title="Evaluations"
        lead="Evaluations of agents. By default, promotion checks use the latest evaluation of an agent."
      />
      <FilterBar filters={filters}>
        <FilterAgent filters={filters} name="agent_id" />
        <FilterSelect
          filters={filters}
          name="status"
          label="Status"
          all="Any status"
          options={['passing', 'failing', 'running', 'scheduled']}
        />
        <FilterText filters={filters} name="harness_id" label="Harness" placeholder="Harness ID" />
        <FilterDays filters={filters} />
      </FilterBar>
      <Panel flush>
        <CursorList
          label="Evaluations"
          queryKey={['evaluations', workspace.id]}
          load={(cursor, signal) =>
            call('evaluations.list', {
              params: { workspace: workspace.id },
              query: { ...(others as object), from: startOfDay(from), to: startOfDay(to, 1), cursor },
              signal,
            })
          }
          filters={filters}
          columns={evaluationColumns(workspace.id)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState title="No evaluations yet">
              <p>
                Send the result of an evaluation run from any harness. An agent cannot be promoted without a recent passing
                evaluation.
              </p>
              <ExampleRequest
                path="/api/public/evaluations"
                body={{ name: 'nightly-regression', agent_name: EXAMPLE_AGENT, status: 'passing', pass_rate: 92.5 }}
                scope="evaluations"
              />
            </EmptyState>
          }
        />
      </Panel>
    </>
  );
}
