import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call, type ResponseBody, urlOf } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { DetailPage } from '../../components/detail-page.tsx';
import { DownloadButton } from '../../components/download-button.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { ExactTime } from '../../components/relative-time.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { ActorName } from './actor-name.tsx';
import { EntryProof } from './entry-proof.tsx';

type Entry = ResponseBody<'ledger.read'>;

/** The page of one ledger entry, with its position in the hash chain. */
export function EntryPage() {
  const { seq } = useParams({ strict: false }) as { seq: string };
  const { workspace } = useWorkspace();
  const params = { workspace: workspace.id, seq };
  const entry = useQuery({
    queryKey: ['entry', workspace.id, seq],
    queryFn: ({ signal }) => call('ledger.read', { params, signal }),
  });
  return (
    <DetailPage
      title={`Entry ${seq}`}
      list={{ to: '/w/$workspace/ledger', label: 'Audit ledger' }}
      query={entry}
      skeletonHeightPx={300}
    >
      {(data, crumb) => (
        <>
          <PageHeader
            title={`Entry ${data.seq}: ${data.action}`}
            crumb={crumb}
            lead={
              <>
                Recorded <ExactTime at={data.recorded_at} />
              </>
            }
            actions={
              <>
                <AdjacentEntryLink seq={data.previous?.seq} label="Previous" />
                <AdjacentEntryLink seq={data.next?.seq} label="Next" />
                <DownloadButton url={urlOf('logs.inclusion', { params: { ...params, log: 'audit' } })} label="Inclusion proof" />
              </>
            }
          />
          <div className="stack">
            <EntryProof entry={data} />
            <Panel title="Record">
              <EntryProperties entry={data} />
            </Panel>
            <Panel
              title="Hashed text"
              note="Canonical JSON (RFC 8785). The row hash is the SHA-256 of a fixed prefix and this text (docs/formats.md)."
            >
              <Snippet text={data.document} what="the canonical text" />
            </Panel>
          </div>
        </>
      )}
    </DetailPage>
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
        ['Actor (as sent)', <ActorName key="actor" actor={entry.actor} />],
        ['Recorded by (verified)', <Actor key="by" by={entry.recorded_by} />],
        ['Subject', visibleSpaces(entry.subject ?? '–')],
        ['Rationale', entry.rationale ?? '–'],
        [
          'Agent',
          agent === null ? (
            '–'
          ) : (
            <Link key="agent" to="/w/$workspace/agents/$agent" params={{ workspace: workspace.id, agent: agent.id }}>
              {visibleSpaces(agent.name)}
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
        ['Keep run until', entry.retention_until ?? '–'],
        ['ID', <Identifier key="id" value={entry.id} what="the entry ID" />],
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
