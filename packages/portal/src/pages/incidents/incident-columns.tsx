import { shorten } from '@countersign/core/domain/shorten';
import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../api/call.ts';
import { Actor } from '../../components/actor.tsx';
import { Badge } from '../../components/badge.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SeverityBadge } from '../../components/status-badges.tsx';
import { type Column, rowLink } from '../../lists/data-table.tsx';

type Incident = ListItem<'incidents.list'>;

/** The columns of incident lists. */
export const incidentColumns = (workspace: string): Column<Incident>[] => [
  {
    title: 'Incident',
    wide: true,
    cell: ({ id, description, agent }) => (
      <>
        <Link className={rowLink} to="/w/$workspace/incidents/$incident" params={{ workspace, incident: id }}>
          {visibleSpaces(agent.name)}
        </Link>
        <span className="soft break"> · {shorten(description, 120)}</span>
      </>
    ),
  },
  { title: 'Severity', cell: ({ severity }) => <SeverityBadge severity={severity} /> },
  { title: 'Re-certification', cell: ({ recertification }) => <RecertificationBadge state={recertification} /> },
  { title: 'Opened by', cell: ({ opened_by }) => <Actor by={opened_by} />, wideOnly: true },
  { title: 'Opened', cell: ({ opened_at }) => <RelativeTime at={opened_at} /> },
];

/** A badge with the state of an incident's re-certification, or `not required`. */
export function RecertificationBadge({ state }: { state: Incident['recertification'] }) {
  if (state === 'none') return <span className="faint">not required</span>;
  return <Badge tone={state === 'open' ? 'warn' : 'good'}>{state}</Badge>;
}
