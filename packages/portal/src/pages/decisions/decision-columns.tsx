import { Link } from '@tanstack/react-router';
import type { Item } from '../../api/call.ts';
import { type Column, rowLink } from '../../lists/data-table.tsx';
import { Badge } from '../../pieces/badge.tsx';
import { REASON_WORDS, Verdict } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';

/** Decisions as every list shows them. */
export const decisionColumns = (workspace: string): Column<Item<'decisions.list'>>[] => [
  {
    title: 'Agent',
    wide: true,
    cell: ({ id, agent, asked_for }) => (
      <span className="row">
        <Link className={rowLink} to="/w/$workspace/decisions/$decision" params={{ workspace, decision: id }}>
          {agent?.name ?? asked_for ?? 'unknown agent'}
        </Link>
        {agent === null && asked_for !== null && (
          <Badge tone="quiet" dot={false}>
            unknown agent
          </Badge>
        )}
      </span>
    ),
  },
  { title: 'Decision', cell: ({ allowed }) => <Verdict allowed={allowed} /> },
  { title: 'Reason', cell: ({ reason }) => <span className="soft nowrap">{REASON_WORDS[reason]}</span> },
  { title: 'Asked by', cell: ({ asked_by }) => <Who by={asked_by} />, wideOnly: true },
  { title: 'No.', numeric: true, cell: ({ seq }) => seq, wideOnly: true },
  { title: 'Decided', cell: ({ decided_at }) => <When at={decided_at} /> },
];
