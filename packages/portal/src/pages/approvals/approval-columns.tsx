import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../api/call.ts';
import { Actor } from '../../components/actor.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { RelativeTime } from '../../components/relative-time.tsx';
import { ApprovalStatusBadge } from '../../components/status-badges.tsx';
import { TruncatedText } from '../../components/truncated-text.tsx';
import { type Column, rowLink } from '../../lists/data-table.tsx';

type Approval = ListItem<'approvals.list'>;

/** The columns of approval lists. */
export const approvalColumns = (workspace: string): Column<Approval>[] => [
  {
    title: 'Agent',
    cell: ({ evaluation, agent }) => (
      <Link
        className={`${rowLink} nowrap`}
        to="/w/$workspace/approvals/$evaluation"
        params={{ workspace, evaluation: evaluation.id }}
      >
        <TruncatedText text={visibleSpaces(agent.name)} />
      </Link>
    ),
  },
  { title: 'Evaluation', wide: true, cell: ({ evaluation }) => <span className="break">{evaluation.name}</span> },
  { title: 'Pass rate', numeric: true, cell: ({ evaluation }) => formatPercent(evaluation.pass_rate) },
  { title: 'Recorded by', cell: ({ evaluation }) => <Actor by={evaluation.recorded_by} /> },
  { title: 'State', cell: ({ status }) => <ApprovalStatusBadge status={status} /> },
  { title: 'Decided by', cell: ({ decided_by }) => <Actor by={decided_by} />, wideOnly: true },
  { title: 'Requested', cell: ({ requested_at }) => <RelativeTime at={requested_at} /> },
];
