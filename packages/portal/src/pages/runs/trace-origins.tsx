import { type ResponseBody, urlOf } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { formatBytes, formatCount } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { DataTable } from '../../lists/data-table.tsx';
import { RoundedNumbers } from './rounded-numbers.tsx';
import { runColumns } from './run-columns.tsx';

/** The server returns at most this many telemetry events of a run. */
const EVENTS_MAX = 50;

/** The original requests of a trace, its metadata, and telemetry events of the same run. */
export function TraceOrigins({ trace }: { trace: ResponseBody<'runs.trace'> }) {
  const { workspace } = useWorkspace();
  return (
    <>
      {trace.telemetry.length > 0 && (
        <Panel
          title="Telemetry events of this run"
          note={trace.telemetry.length < EVENTS_MAX ? undefined : `Only the latest ${EVENTS_MAX} events are listed.`}
          flush
        >
          <DataTable
            label="Telemetry events of this run"
            items={trace.telemetry}
            keyOf={({ id, ordinal }) => `${id}/${ordinal}`}
            columns={runColumns(workspace.id, { withAgent: false })}
          />
        </Panel>
      )}
      {trace.metadata !== null && (
        <Panel title="Metadata">
          <RoundedNumbers value={trace.metadata} />
          <Snippet text={JSON.stringify(trace.metadata, null, 2)} what="the run's metadata" />
        </Panel>
      )}
      <Panel
        title="Original requests"
        note={`This run was merged from these requests. They are stored unchanged, except that user IDs with personal data are overwritten.${
          trace.submissions.some(({ deleted }) => deleted)
            ? ' A request marked as deleted also contained another run, which was erased.'
            : ''
        }${
          trace.submission_count > trace.submissions.length
            ? ` The table lists the latest ${formatCount(trace.submissions.length)} of ${formatCount(trace.submission_count)} requests.`
            : ''
        }`}
        flush
      >
        <DataTable
          label="Original requests"
          items={trace.submissions}
          keyOf={({ number }) => String(number)}
          columns={[
            {
              title: 'No.',
              wide: true,
              cell: ({ number, redacted, deleted }) =>
                deleted ? (
                  <>
                    Request {number}
                    <span className="faint"> · deleted</span>
                  </>
                ) : (
                  <>
                    <a
                      href={urlOf('runs.submission', {
                        params: { workspace: workspace.id, trace: trace.id, number: String(number) },
                      })}
                      download
                    >
                      Request {number}
                    </a>
                    {redacted && <span className="faint"> · user ID overwritten</span>}
                  </>
                ),
            },
            { title: 'Sent by', cell: ({ recorded_by }) => <Actor by={recorded_by} /> },
            { title: 'Size', numeric: true, cell: ({ bytes, deleted }) => (deleted ? '–' : formatBytes(bytes)) },
            { title: 'Received', cell: ({ received_at }) => <RelativeTime at={received_at} /> },
          ]}
        />
      </Panel>
    </>
  );
}
