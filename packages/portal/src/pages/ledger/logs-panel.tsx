import { useQuery } from '@tanstack/react-query';
import { call, type ResponseBody, urlOf } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Badge } from '../../components/badge.tsx';
import { DifferingRows } from '../../components/differing-rows.tsx';
import { LoadedContent } from '../../components/loaded-content.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatCount } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { type Column, DataTable } from '../../lists/data-table.tsx';

type Log = ResponseBody<'logs.list'>['items'][number];

/** The name of each log, and what it records. */
const LOG_TEXTS: Record<Log['log'], readonly [name: string, records: string]> = {
  audit: ['Audit ledger', 'Actions of people, programs and this service'],
  decisions: ['Decision log', 'Every promotion decision, allowed or blocked'],
  evidence: ['Evidence log', 'All facts that promotion decisions depend on'],
  keys: ['Key audit trail', 'Minted, rotated and revoked keys, and changes of their scopes'],
  traces: ['Trace log', 'Hashes of all received traces, and which traces were deleted'],
};

/** All logs of the workspace with their latest checkpoints. */
export function LogsPanel() {
  const { workspace } = useWorkspace();
  const logs = useQuery({
    queryKey: ['logs', workspace.id],
    queryFn: ({ signal }) => call('logs.list', { params: { workspace: workspace.id }, signal }),
  });
  return (
    <div>
      <LoadedContent query={logs} skeleton={null} what="The list of logs">
        {({ items, differing_rows }) => (
          <Panel
            title="Logs of this workspace"
            note="Each log has a Merkle tree. Keep checkpoints outside this server to detect a log that was rewritten or truncated."
            flush
          >
            <DifferingRows rows={differing_rows} />
            {items.map(({ log, fault }) => fault !== null && <ChangedLogNotice key={log} log={log} fault={fault} />)}
            <DataTable label="Logs" items={items} keyOf={({ log }) => log} columns={columnsOf(workspace.id)} />
          </Panel>
        )}
      </LoadedContent>
    </div>
  );
}

/** The notice about a log whose head was changed outside this server. */
function ChangedLogNotice({ log, fault }: { log: Log['log']; fault: string }) {
  const { workspace } = useWorkspace();
  return (
    <Notice kind="problem" title={`The ${LOG_TEXTS[log][0].toLowerCase()} was changed in the database`} role="alert">
      <p>{fault}</p>
      <p>
        The server no longer appends to this log or signs its checkpoints. Ask the operator to run{' '}
        <code>
          countersign-server ledger verify --workspace {workspace.id} --log {log}
        </code>
        , and to restore the database from a backup.
      </p>
    </Notice>
  );
}

const columnsOf = (workspace: string): Column<Log>[] => [
  { title: 'Log', cell: ({ log }) => <span className="nowrap">{LOG_TEXTS[log][0]}</span> },
  { title: 'Records', wide: true, line: true, cell: ({ log }) => <span className="soft">{LOG_TEXTS[log][1]}</span> },
  {
    title: 'Rows',
    numeric: true,
    cell: ({ rows, fault }) => (fault === null ? formatCount(rows) : <Badge tone="bad">changed</Badge>),
  },
  {
    title: 'Latest checkpoint',
    cell: ({ checkpoint }) =>
      checkpoint === null ? (
        <span className="faint">none</span>
      ) : (
        <span className="nowrap">
          {formatCount(checkpoint.size)} {checkpoint.size === 1 ? 'row' : 'rows'}, <RelativeTime at={checkpoint.signed_at} />
        </span>
      ),
  },
  {
    title: 'Download',
    cell: ({ log, fault }) =>
      fault === null && (
        <a
          href={urlOf('logs.checkpoint', { params: { workspace, log } })}
          download
          aria-label={`Checkpoint of the ${LOG_TEXTS[log][0].toLowerCase()}`}
        >
          Checkpoint
        </a>
      ),
  },
];
