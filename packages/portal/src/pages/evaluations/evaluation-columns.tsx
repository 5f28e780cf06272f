import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../api/call.ts';
import { Actor } from '../../components/actor.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { RelativeTime } from '../../components/relative-time.tsx';
import { ApprovalStatusBadge, EvaluationStatusBadge } from '../../components/status-badges.tsx';
import { TruncatedText } from '../../components/truncated-text.tsx';
import { type Column, rowLink } from '../../lists/data-table.tsx';

type Evaluation = ListItem<'evaluations.list'>;

/** The columns of evaluation lists. */
export const evaluationColumns = (
  workspace: string,
  { withAgent = true }: { withAgent?: boolean } = {},
): Column<Evaluation>[] => [
  {
    title: 'Evaluation',
    wide: true,
    cell: ({ id, name, suite, category, completeness }) => (
      <>
        <Link className={rowLink} to="/w/$workspace/evaluations/$evaluation" params={{ workspace, evaluation: id }}>
          {name}
        </Link>
        {suite !== null && <span className="faint"> · suite {suite}</span>}
        {category !== null && <span className="faint"> · {category}</span>}
        {completeness === 'partial' && <span className="faint"> · partial</span>}
      </>
    ),
  },
  ...(withAgent
    ? [
        {
          title: 'Agent',
          cell: ({ agent }: Evaluation) =>
            agent === null ? <span className="faint">none</span> : <TruncatedText text={visibleSpaces(agent.name)} />,
        },
      ]
    : []),
  { title: 'Status', cell: ({ status }) => <EvaluationStatusBadge status={status} /> },
  { title: 'Pass rate', numeric: true, cell: ({ pass_rate }) => formatPercent(pass_rate) },
  { title: 'Approval', cell: ({ approval }) => <ApprovalStatusBadge status={approval} /> },
  { title: 'Recorded by', cell: ({ recorded_by }) => <Actor by={recorded_by} />, wideOnly: true },
  { title: 'Recorded', cell: ({ recorded_at }) => <RelativeTime at={recorded_at} /> },
];
