import { Link } from '@tanstack/react-router';
import type { Item } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { DataTable } from '../../lists/data-table.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { decisionColumns } from '../decisions/decision-columns.tsx';

/** The decisions of late. */
export function LastDecisions({ decisions }: { decisions: readonly Item<'decisions.list'>[] }) {
  const { workspace } = useHere();
  return (
    <Panel
      title="Last decisions"
      actions={
        <Link to="/w/$workspace/decisions" params={{ workspace: workspace.id }}>
          All decisions
        </Link>
      }
      flush
    >
      <DataTable label="Last decisions" items={decisions} keyOf={({ id }) => id} columns={decisionColumns(workspace.id)} />
    </Panel>
  );
}
