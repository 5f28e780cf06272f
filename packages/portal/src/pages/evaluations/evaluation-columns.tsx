import { Link } from '@tanstack/react-router';
import type { Item } from '../../api/call.ts';
import { type Column, rowLink } from '../../lists/data-table.tsx';
import { Cut } from '../../pieces/cut.tsx';
import { percent } from '../../pieces/figures.ts';
import { ApprovalState, EvaluationState } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';

type Evaluation = Item<'evaluations.list'>;

/** Evaluations as every list shows them. */
export const evaluationColumns = (
  workspace: string,
  { withAgent = true }: { withAgent?: boolean } = {},
): Column<Evaluation>[] => [
  {
    title: 'Evaluation',
    wide: true,
    cell: ({ id, name, category, completeness }) => (
      <>
        <Link className={rowLink} to="/w/$workspace/evaluations/$evaluation" params={{ workspace, evaluation: id }}>
          {name}
        </Link>
        {category !== null && <span className="faint"> · {category}</span>}
        {completeness === 'partial' && <span className="faint"> · partial</span>}
      </>
    ),
  },
  ...(withAgent
    ? [
        {
          title: 'Agent',
          cell: ({ agent }: Evaluation) => (agent === null ? <span className="faint">none</span> : <Cut text={agent.name} />),
        },
      ]
    : []),
  { title: 'Status', cell: ({ status }) => <EvaluationState status={status} /> },
  { title: 'Pass rate', numeric: true, cell: ({ pass_rate }) => percent(pass_rate) },
  { title: 'Approval', cell: ({ approval }) => <ApprovalState status={approval} /> },
  { title: 'Recorded by', cell: ({ recorded_by }) => <Who by={recorded_by} />, wideOnly: true },
  { title: 'Recorded', cell: ({ recorded_at }) => <When at={recorded_at} /> },
];
