import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../api/call.ts';
import { Actor } from '../../components/actor.tsx';
import { Badge } from '../../components/badge.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { REASON_LABELS, VerdictBadge } from '../../components/status-badges.tsx';
import { type Column, rowLink } from '../../lists/data-table.tsx';

/** The columns of decision lists. */
export const decisionColumns = (workspace: string): Column<ListItem<'decisions.list'>>[] => [
  {
    title: 'Agent',
    wide: true,
    cell: ({ id, agent, asked_for }) => (
      <span className="row">
        <Link className={rowLink} to="/w/$workspace/decisions/$decision" params={{ workspace, decision: id }}>
          {visibleSpaces(agent?.name ?? asked_for ?? 'unknown agent')}
        </Link>
        {agent === null && asked_for !== null && (
          <Badge tone="quiet" dot={false}>
            unknown agent
          </Badge>
        )}
      </span>
    ),
  },
  { title: 'Decision', cell: ({ allowed }) => <VerdictBadge allowed={allowed} /> },
  { title: 'Reason', cell: ({ reason }) => <span className="soft nowrap">{REASON_LABELS[reason]}</span> },
  { title: 'Requested by', cell: ({ asked_by }) => <Actor by={asked_by} />, wideOnly: true },
  { title: 'No.', numeric: true, cell: ({ seq }) => seq, wideOnly: true },
  { title: 'Decided', cell: ({ decided_at }) => <RelativeTime at={decided_at} /> },
];
