import { call, type ListItem } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import type { Column } from '../../lists/data-table.tsx';
import { EmptyState } from '../../lists/empty-state.tsx';
import { useFilters } from '../../lists/use-filters.ts';

type Event = ListItem<'key_events.list'>;

/** The key audit trail: a log with its own hashes and tree. */
export function KeyTrail() {
  const { workspace } = useWorkspace();
  const filters = useFilters([]);
  return (
    <Panel flush>
      <CursorList
        label="Key audit trail"
        queryKey={['key-events', workspace.id]}
        load={(cursor, signal) => call('key_events.list', { params: { workspace: workspace.id }, query: { cursor }, signal })}
        filters={filters}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title="No events yet">
            <p>An event is recorded here when a key is minted, rotated or revoked, and when its scopes change.</p>
          </EmptyState>
        }
      />
    </Panel>
  );
}

const TONES: Record<Event['action'], Tone> = { minted: 'good', rotated: 'accent', revoked: 'bad', scopes_changed: 'warn' };

const COLUMNS: Column<Event>[] = [
  {
    title: 'Key',
    wide: true,
    cell: ({ name, prefix }) => (
      <>
        <strong>{name}</strong> <code className="faint">{prefix}</code>
      </>
    ),
  },
  { title: 'Event', cell: ({ action }) => <Badge tone={TONES[action]}>{action.replace('_', ' ')}</Badge> },
  {
    title: 'Scopes after the event',
    wide: true,
    line: true,
    cell: ({ scopes }) => <span className="soft">{scopes.join(', ')}</span>,
  },
  { title: 'Recorded by', cell: ({ recorded_by }) => <Actor by={recorded_by} /> },
  { title: 'No.', numeric: true, cell: ({ seq }) => seq, wideOnly: true },
  {
    title: 'Hash',
    cell: ({ event_hash }) => <Identifier value={event_hash} what="the event's hash" shownCharacters={8} />,
    wideOnly: true,
  },
  { title: 'Recorded', cell: ({ recorded_at }) => <RelativeTime at={recorded_at} /> },
];
