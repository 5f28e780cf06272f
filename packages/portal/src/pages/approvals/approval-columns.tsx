import { Link } from '@tanstack/react-router';
import type { Item } from '../../api/call.ts';
import { type Column, rowLink } from '../../lists/data-table.tsx';
import { Cut } from '../../pieces/cut.tsx';
import { percent } from '../../pieces/figures.ts';
import { ApprovalState } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';

type Approval = Item<'approvals.list'>;

/** Approvals as every list shows them. */
export const approvalColumns = (workspace: string): Column<Approval>[] => [
  {
    title: 'Agent',
    cell: ({ evaluation, agent }) => (
      <Link
        className={`${rowLink} nowrap`}
        to="/w/$workspace/approvals/$evaluation"
        params={{ workspace, evaluation: evaluation.id }}
      >
        <Cut text={agent.name} />
      </Link>
    ),
  },
  { title: 'Evaluation', wide: true, cell: ({ evaluation }) => <span className="break">{evaluation.name}</span> },
  { title: 'Pass rate', numeric: true, cell: ({ evaluation }) => percent(evaluation.pass_rate) },
  { title: 'Submitted by', cell: ({ evaluation }) => <Who by={evaluation.recorded_by} /> },
  { title: 'State', cell: ({ status }) => <ApprovalState status={status} /> },
  { title: 'Decided by', cell: ({ decided_by }) => <Who by={decided_by} />, wideOnly: true },
  { title: 'Asked', cell: ({ requested_at }) => <When at={requested_at} /> },
];
