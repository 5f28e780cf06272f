import { call } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { formatExactTime } from '../../components/time-format.ts';
import { FilterAgent } from '../../lists/agent-select.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import { EmptyState, ExampleRequest } from '../../lists/empty-state.tsx';
import { FilterBar, FilterDays, FilterSelect, FilterText } from '../../lists/filter-bar.tsx';
import { startOfDay, useFilters } from '../../lists/use-filters.ts';
import { runColumns } from './run-columns.tsx';

/** The page with all runs: traces and telemetry events. */
export function RunsPage() {
  const { workspace } = useWorkspace();
  // `from` and `to` are days that a person selects. `since` and `before` are exact times in links from other pages.
  // A run must match all four filters.
  const filters = useFilters(['text', 'source', 'agent_id', 'outcome', 'session_id', 'from', 'to', 'since', 'before']);
  const { from, to, since, before, ...others } = filters.values;
  return (
    <>
      <PageHeader
        title="Runs"
        lead={
          since !== undefined || before !== undefined ? (
            <>
              Runs received
              {since !== undefined && ` from ${formatExactTime(since)}`}
              {before !== undefined && ` until ${formatExactTime(before)}`}.
            </>
          ) : (
            'Runs of agents, as traces with their steps or as telemetry events. Newest first.'
          )
        }
      />
      <FilterBar filters={filters}>
        <FilterText filters={filters} name="text" label="Search" placeholder="Run, session or agent" search />
        <FilterAgent filters={filters} name="agent_id" />
        <FilterSelect filters={filters} name="outcome" label="Outcome" all="Any outcome" options={OUTCOMES} />
        <FilterSelect
          filters={filters}
          name="source"
          label="Kind"
          all="Traces and events"
          options={[
            { value: 'trace', label: 'Traces' },
            { value: 'telemetry', label: 'Telemetry events' },
          ]}
        />
        <FilterText filters={filters} name="session_id" label="Session" placeholder="Session ID" />
        <FilterDays filters={filters} />
      </FilterBar>
      <Panel flush>
        <CursorList
          label="Runs"
          queryKey={['runs', workspace.id]}
          load={(cursor, signal) =>
            call('runs.list', {
              params: { workspace: workspace.id },
              query: {
                ...(others as object),
                from: sortTimes(since, startOfDay(from)).at(-1),
                to: sortTimes(before, startOfDay(to, 1))[0],
                cursor,
              },
              signal,
            })
          }
          filters={filters}
          columns={runColumns(workspace.id)}
          keyOf={({ id, ordinal }) => `${id}/${ordinal}`}
          empty={
            <EmptyState title="No runs yet">
              <p>Send a run with its steps in one request at its end, or in several requests while it runs:</p>
              <ExampleRequest path="/api/public/traces" body={FIRST_TRACE} scope="telemetry" />
              <OpenTelemetryVariables />
            </EmptyState>
          }
        />
      </Panel>
    </>
  );
}

/** The environment variables with which an agent that uses OpenTelemetry sends its runs to this server. */
function OpenTelemetryVariables() {
  return (
    <>
      <p>An agent that uses OpenTelemetry needs no code change. Set these environment variables and restart the agent:</p>
      <Snippet
        text={[
          `OTEL_EXPORTER_OTLP_ENDPOINT=${window.location.origin}`,
          'OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf',
          'OTEL_EXPORTER_OTLP_HEADERS=x-service-key=$COUNTERSIGN_API_KEY',
          'OTEL_METRICS_EXPORTER=none',
        ].join('\n')}
        what="variables of OpenTelemetry"
      />
    </>
  );
}

const OUTCOMES = ['success', 'failure', 'escalated', 'blocked', 'incomplete', 'arriving'];

const FIRST_TRACE = {
  trace_id: 'run-1',
  agent_name: EXAMPLE_AGENT,
  spans: [{ span_id: 's1', kind: 'llm', name: 'plan', prompt_tokens: 812, completion_tokens: 64, cost_usd: 0.0042 }],
};

/** The given times, earliest first, without those that are undefined. */
const sortTimes = (...times: (string | undefined)[]): string[] =>
  times.filter((time) => time !== undefined).toSorted((left, right) => Date.parse(left) - Date.parse(right));
