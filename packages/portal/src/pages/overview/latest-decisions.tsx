import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Panel } from '../../components/panel.tsx';
import { DataTable } from '../../lists/data-table.tsx';
import { decisionColumns } from '../decisions/decision-columns.tsx';

/** A panel with the latest decisions, and a link to the page with all decisions. */
export function LatestDecisions({ decisions }: { decisions: readonly ListItem<'decisions.list'>[] }) {
  const { workspace } = useWorkspace();
  return (
    <Panel
      title="Latest decisions"
      actions={
        <Link to="/w/$workspace/decisions" params={{ workspace: workspace.id }}>
          All decisions
        </Link>
      }
      flush
    >
      <DataTable label="Latest decisions" items={decisions} keyOf={({ id }) => id} columns={decisionColumns(workspace.id)} />
    </Panel>
  );
}
