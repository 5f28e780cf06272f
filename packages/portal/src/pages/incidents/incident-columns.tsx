import { Link } from '@tanstack/react-router';
import type { Item } from '../../api/call.ts';
import { type Column, rowLink } from '../../lists/data-table.tsx';
import { Badge } from '../../pieces/badge.tsx';
import { SeverityState } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';

type Incident = Item<'incidents.list'>;

/** Incidents as every list shows them. */
export const incidentColumns = (workspace: string): Column<Incident>[] => [
  {
    title: 'Incident',
    wide: true,
    cell: ({ id, description, agent }) => (
      <>
        <Link className={rowLink} to="/w/$workspace/incidents/$incident" params={{ workspace, incident: id }}>
          {agent.name}
        </Link>
        <span className="soft break"> · {description.length > 120 ? `${description.slice(0, 120)}…` : description}</span>
      </>
    ),
  },
  { title: 'Severity', cell: ({ severity }) => <SeverityState severity={severity} /> },
  { title: 'Re-certification', cell: ({ recertification }) => <Recertification state={recertification} /> },
  { title: 'Opened by', cell: ({ opened_by }) => <Who by={opened_by} />, wideOnly: true },
  { title: 'Opened', cell: ({ opened_at }) => <When at={opened_at} /> },
];

/** Whether re-certification was demanded, and how that stands. */
export function Recertification({ state }: { state: Incident['recertification'] }) {
  if (state === 'none') return <span className="faint">not demanded</span>;
  return <Badge tone={state === 'open' ? 'warn' : 'good'}>{state}</Badge>;
}
