import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call, type ResponseBody, urlOf } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { formatExactTime } from '../../components/time-format.ts';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { EntryProof } from './entry-proof.tsx';
import { ActorName, Download } from './ledger-page.tsx';

type Entry = ResponseBody<'ledger.read'>;

/** One entry of the ledger, with its place in the chain. */
export function EntryPage() {
  const { seq } = useParams({ strict: false }) as { seq: string };
  const { workspace } = useWorkspace();
  const params = { workspace: workspace.id, seq };
  const entry = useQuery({
    queryKey: ['entry', workspace.id, seq],
    queryFn: ({ signal }) => call('ledger.read', { params, signal }),
  });
  const crumb = (
    <Link to="/w/$workspace/ledger" params={{ workspace: workspace.id }}>
      Audit ledger
    </Link>
  );
  if (entry.data === undefined) {
    return (
      <>
        <PageHeader title={`Entry ${seq}`} crumb={crumb} />
        {entry.isError ? (
          <ProblemNotice problem={entry.error} retry={() => void entry.refetch()} />
        ) : (
          <BlockSkeleton height={300} />
        )}
      </>
    );
  }
  const { data } = entry;
  return (
    <>
      <PageHeader
        title={`Entry ${data.seq}: ${data.action}`}
        crumb={crumb}
        lead={`Recorded ${formatExactTime(data.recorded_at)}`}
        actions={
          <>
            <AdjacentEntryLink seq={data.previous?.seq} label="Entry before" />
            <AdjacentEntryLink seq={data.next?.seq} label="Entry behind" />
            <Download address={urlOf('logs.inclusion', { params: { ...params, log: 'audit' } })} label="Inclusion proof" />
          </>
        }
      />
      <div className="stack">
        <EntryProof entry={data} />
        <Panel title="What was recorded">
          <EntryProperties entry={data} />
        </Panel>
        <Panel
          title="The text that was hashed"
          note="Canonical JSON (RFC 8785). The row's hash is SHA-256 over it, with the prefix of docs/formats.md."
        >
          <Snippet text={data.document} what="the canonical text" />
        </Panel>
      </div>
    </>
  );
}

function AdjacentEntryLink({ seq, label }: { seq: number | undefined; label: string }) {
  const { workspace } = useWorkspace();
  if (seq === undefined) return null;
  return (
    <Button
      variant="default"
      component={Link}
      {...({ to: '/w/$workspace/ledger/$seq', params: { workspace: workspace.id, seq: String(seq) } } as object)}
    >
      {label}
    </Button>
  );
}

function EntryProperties({ entry }: { entry: Entry }) {
  const { workspace } = useWorkspace();
  const { agent } = entry;
  return (
    <PropertyList
      wide
      facts={[
        ['Action', <code key="action">{entry.action}</code>],
        ['Actor, as sent', <ActorName key="actor" actor={entry.actor} />],
        ['Really written by', <Actor key="by" by={entry.recorded_by} />],
        ['Subject', entry.subject ?? '–'],
        ['Rationale', entry.rationale ?? '–'],
        [
          'Agent',
          agent === null ? (
            '–'
          ) : (
            <Link key="agent" to="/w/$workspace/agents/$agent" params={{ workspace: workspace.id, agent: agent.id }}>
              {agent.name}
            </Link>
          ),
        ],
        [
          'Run',
          entry.trace_id === null ? (
            '–'
          ) : (
            <Link key="run" to="/w/$workspace/runs" params={{ workspace: workspace.id }} search={{ text: entry.trace_id }}>
              {entry.trace_id}
            </Link>
          ),
        ],
        ['Framework', entry.framework ?? '–'],
        ['Keep until', entry.retention_until ?? '–'],
        ['Id', <Identifier key="id" value={entry.id} what="the entry's id" />],
        [
          'Metadata',
          entry.metadata === null ? (
            '–'
          ) : (
            <Snippet key="metadata" text={JSON.stringify(entry.metadata, null, 2)} what="the entry's metadata" />
          ),
        ],
      ]}
    />
  );
}
