import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { formatCount, formatDollars, formatDuration } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { ExactTime } from '../../components/relative-time.tsx';

type Run = Pick<
  ResponseBody<'runs.trace'>,
  | 'agent'
  | 'provisional_agent_name'
  | 'latency_ms'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'total_tokens'
  | 'cost_usd'
  | 'session_id'
  | 'external_user_id'
  | 'started_at'
  | 'detail'
>;

/** A panel with the agent, usage, time, session and end user of a run. `more` adds properties of a telemetry event. */
export function RunSummary({
  run,
  more = [],
}: {
  run: Run & { span_count?: number };
  more?: readonly (readonly [string, ReactNode])[];
}) {
  const { workspace } = useWorkspace();
  const params = { workspace: workspace.id };
  return (
    <Panel>
      <div className="stack">
        <PropertyList
          facts={[
            [
              'Agent',
              run.agent === null ? (
                formatProvisionalAgent(run.provisional_agent_name)
              ) : (
                <Link key="agent" to="/w/$workspace/agents/$agent" params={{ ...params, agent: run.agent.id }}>
                  {visibleSpaces(run.agent.name)}
                </Link>
              ),
            ],
            ['Duration', formatDuration(run.latency_ms)],
            ['Tokens', formatTokens(run)],
            ['Cost', formatDollars(run.cost_usd)],
            ['Steps', run.span_count === undefined ? undefined : formatCount(run.span_count)],
            ['Started', run.started_at === null ? '–' : <ExactTime key="at" at={run.started_at} />],
            [
              'Session',
              run.session_id === null ? (
                '–'
              ) : (
                <Link key="session" to="/w/$workspace/runs" params={params} search={{ session_id: run.session_id }}>
                  {run.session_id}
                </Link>
              ),
            ],
            ['End user', run.external_user_id ?? '–'],
            ...more,
          ]}
        />
        {run.detail !== null && <p className="soft lines">{run.detail}</p>}
      </div>
    </Panel>
  );
}

const formatProvisionalAgent = (name: string | null): string =>
  name === null ? 'none' : `${visibleSpaces(name)} (provisional, not registered)`;

function formatTokens({ prompt_tokens, completion_tokens, total_tokens }: Run): string {
  if (total_tokens === null) return '–';
  if (prompt_tokens === null && completion_tokens === null) return formatCount(total_tokens);
  return `${formatCount(total_tokens)} (${formatCount(prompt_tokens)} in, ${formatCount(completion_tokens)} out)`;
}
