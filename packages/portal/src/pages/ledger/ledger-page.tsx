import { shorten } from '@countersign/core/domain/shorten';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call, type ListItem, urlOf } from '../../api/call.ts';
import { membersQuery } from '../../api/people.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { DownloadButton } from '../../components/download-button.tsx';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { Identifier } from '../../components/identifier.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { TruncatedText } from '../../components/truncated-text.tsx';
import { FilterAgent } from '../../lists/agent-select.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import { type Column, rowLink } from '../../lists/data-table.tsx';
import { EmptyState, ExampleRequest } from '../../lists/empty-state.tsx';
import { FilterBar, FilterDays, FilterSelect, FilterText } from '../../lists/filter-bar.tsx';
import { startOfDay, useFilters } from '../../lists/use-filters.ts';
import { ActorName } from './actor-name.tsx';
import { LogsPanel } from './logs-panel.tsx';
import { VerifyLedger } from './verify-ledger.tsx';

type Entry = ListItem<'ledger.list'>;

/** The server lists at most this many names of actions, in alphabetical order. */
const ACTIONS_MAX = 200;

/** The page of the audit ledger: its verification, its entries, and all logs of the workspace. */
export function LedgerPage() {
  const { workspace } = useWorkspace();
  const params = { workspace: workspace.id };
  const filters = useFilters(['action', 'actor', 'agent_id', 'trace_id', 'from', 'to']);
  const { from, to, ...others } = filters.values;
  const actions = useQuery({
    queryKey: ['ledger-actions', workspace.id],
    queryFn: ({ signal }) => call('ledger.actions', { params, signal }),
  });
  const actionNames = actions.data?.actions ?? [];
  const anyAction = actionNames.length < ACTIONS_MAX ? 'Any action' : `Any action (only the first ${ACTIONS_MAX} are listed)`;
  const { data: members } = useQuery(membersQuery(workspace.id));
  // The email address distinguishes a person from a program that sends the same name as its actor.
  const actors = new Map((members?.items ?? []).map(({ person_id: id, name, email }) => [`user:${id}`, `${name}, ${email}`]));
  return (
    <>
      <PageHeader
        title="Audit ledger"
        lead="Actions of people, programs and this service. Each entry contains the previous entry's hash, so a change breaks the chain."
        actions={
          <>
            <DownloadButton url={urlOf('ledger.export', { params })} label="Whole ledger (NDJSON)" />
            <DownloadButton url={urlOf('logs.checkpoint', { params: { ...params, log: 'audit' } })} label="Checkpoint" />
          </>
        }
      />
      <div className="stack">
        <VerifyLedger />
        <div>
          <FilterBar filters={filters}>
            <FilterSelect filters={filters} name="action" label="Action" all={anyAction} options={actionNames} />
            <FilterText filters={filters} name="actor" label="Actor" displayNames={actors} />
            <FilterAgent filters={filters} name="agent_id" />
            <FilterText filters={filters} name="trace_id" label="Run" placeholder="Trace ID" />
            <FilterDays filters={filters} />
          </FilterBar>
          <Panel flush>
            <CursorList
              label="Ledger entries"
              queryKey={['ledger', workspace.id]}
              load={(cursor, signal) =>
                call('ledger.list', {
                  params,
                  query: { ...(others as object), from: startOfDay(from), to: startOfDay(to, 1), cursor },
                  signal,
                })
              }
              filters={filters}
              columns={columnsOf(workspace.id)}
              keyOf={({ id }) => id}
              empty={
                <EmptyState title="No entries yet">
                  <p>
                    This ledger records actions of people and of this service, and entries that your own systems send. Send an
                    entry:
                  </p>
                  <ExampleRequest
                    path="/api/public/audit"
                    body={{
                      actor: 'ci:deploy-prod',
                      action: 'agent.promoted',
                      subject: EXAMPLE_AGENT,
                      rationale: 'release 2026.47',
                    }}
                    scope="audit"
                  />
                </EmptyState>
              }
            />
          </Panel>
        </div>
        <LogsPanel />
      </div>
    </>
  );
}

const columnsOf = (workspace: string): Column<Entry>[] => [
  {
    title: 'Entry',
    cell: ({ seq, action }) => (
      <Link className={`${rowLink} nowrap`} to="/w/$workspace/ledger/$seq" params={{ workspace, seq: String(seq) }}>
        <span className="faint num">{seq}</span> <TruncatedText text={action} long />
      </Link>
    ),
  },
  {
    title: 'Subject and rationale',
    line: true,
    wide: true,
    cell: ({ subject, rationale }) => (
      <span className="break">
        {subject === null ? <span className="faint">–</span> : <ActorName actor={subject} />}
        {rationale !== null && rationale !== '' && <span className="soft"> · {shorten(rationale, 140)}</span>}
      </span>
    ),
  },
  {
    title: 'Actor',
    cell: ({ actor, recorded_by }) => (
      <>
        <ActorName actor={actor} short />
        {/* The actor is the sender's claim, so the verified author is shown if it differs. */}
        {recorded_by !== actor && recorded_by !== `system:${actor}` && (
          <div className="faint nowrap">
            by <Actor by={recorded_by} />
          </div>
        )}
      </>
    ),
  },
  {
    title: 'Hash',
    cell: ({ row_hash }) => <Identifier value={row_hash} what="the entry's hash" shownCharacters={8} />,
    wideOnly: true,
  },
  { title: 'Recorded', cell: ({ recorded_at }) => <RelativeTime at={recorded_at} /> },
];
