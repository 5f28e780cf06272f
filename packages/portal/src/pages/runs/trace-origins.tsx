import { type Answer, addressOf } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { DataTable } from '../../lists/data-table.tsx';
import { bytes } from '../../pieces/figures.ts';
import { Panel } from '../../pieces/panel.tsx';
import { Snippet } from '../../pieces/snippet.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';
import { runColumns } from './run-columns.tsx';

/** Where a trace came from: the requests that brought it, byte for byte; its metadata; telemetry events of the same run. */
export function TraceOrigins({ trace }: { trace: Answer<'runs.trace'> }) {
  const { workspace } = useHere();
  return (
    <>
      {trace.telemetry.length > 0 && (
        <Panel title="Telemetry events of the same run" flush>
          <DataTable
            label="Telemetry events of the same run"
            items={trace.telemetry}
            keyOf={({ id, ordinal }) => `${id}/${ordinal}`}
            columns={runColumns(workspace.id, { withAgent: false })}
          />
        </Panel>
      )}
      {trace.metadata !== null && (
        <Panel title="Metadata">
          <Snippet text={JSON.stringify(trace.metadata, null, 2)} what="the run's metadata" />
        </Panel>
      )}
      <Panel title="Submissions" note="What was sent, byte for byte as it came. Sending a trace again merges." flush>
        <DataTable
          label="Submissions"
          items={trace.submissions}
          keyOf={({ number }) => String(number)}
          columns={[
            {
              title: 'No.',
              wide: true,
              cell: ({ number }) => (
                <a
                  href={addressOf('runs.submission', {
                    params: { workspace: workspace.id, trace: trace.id, number: String(number) },
                  })}
                  download
                >
                  Submission {number}
                </a>
              ),
            },
            { title: 'Sent by', cell: ({ recorded_by }) => <Who by={recorded_by} /> },
            { title: 'Size', numeric: true, cell: (each) => bytes(each.bytes) },
            { title: 'Received', cell: ({ received_at }) => <When at={received_at} /> },
          ]}
        />
      </Panel>
    </>
  );
}
