import { SegmentedControl } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { FilterAgent } from '../../lists/agent-select.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import { EmptyState } from '../../lists/empty-state.tsx';
import { FilterBar } from '../../lists/filter-bar.tsx';
import { useFilters } from '../../lists/use-filters.ts';
import { approvalColumns } from './approval-columns.tsx';

const STATES = [
  { value: 'pending', label: 'Pending' },
  { value: 'approved', label: 'Approved' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'all', label: 'All' },
];

/** The page with the list of approvals. It shows pending approvals by default. A filter selects approved, rejected or all approvals. */
export function ApprovalsPage() {
  const { workspace } = useWorkspace();
  const filters = useFilters(['agent_id']);
  const state = useFilters(['status']);
  const status = state.values.status ?? 'pending';
  const order = status === 'pending' ? 'Oldest first.' : 'Latest first.';
  return (
    <>
      <PageHeader
        title="Approvals"
        lead={`A high-risk agent can be promoted only after a person approves its evaluation. ${order}`}
      />
      <FilterBar filters={filters}>
        <SegmentedControl
          size="xs"
          aria-label="State"
          data={STATES}
          value={status}
          onChange={(next) => state.set({ status: next === 'pending' ? undefined : next })}
        />
        <FilterAgent filters={filters} name="agent_id" />
      </FilterBar>
      <Panel flush>
        <CursorList
          label="Approvals"
          queryKey={['approvals', workspace.id, status]}
          load={(cursor, signal) =>
            call('approvals.list', {
              params: { workspace: workspace.id },
              query: { ...(filters.values as object), status: status as 'pending', cursor },
              signal,
            })
          }
          filters={filters}
          columns={approvalColumns(workspace.id)}
          keyOf={({ evaluation }) => evaluation.id}
          empty={<NoApprovals status={status} />}
        />
      </Panel>
    </>
  );
}

function NoApprovals({ status }: { status: string }) {
  const { workspace } = useWorkspace();
  if (status !== 'pending') {
    return (
      <EmptyState title={status === 'all' ? 'No approvals yet' : `No ${status} evaluations yet`}>
        <p>This list shows who approved or rejected each evaluation. The page of an approval also shows the rationale.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No pending approvals">
      <p>
        A promotion check requests approval if the evaluation of a high-risk agent meets the criteria but is not approved. An
        admin sets the risk level on the agent's page, under{' '}
        <Link to="/w/$workspace/agents" params={{ workspace: workspace.id }}>
          Agents
        </Link>
        .
      </p>
    </EmptyState>
  );
}
