import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { Facts } from '../../pieces/facts.tsx';
import { count, dollars, duration } from '../../pieces/figures.ts';
import { Panel } from '../../pieces/panel.tsx';
import { When } from '../../pieces/when.tsx';

type Run = Pick<
  Answer<'runs.trace'>,
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

/** What a run used and to whom it belongs; `span_count` of a trace, `more` of an event. */
export function TraceFacts({
  trace,
  more = [],
}: {
  trace: Run & { span_count?: number };
  more?: readonly (readonly [string, ReactNode])[];
}) {
  const { workspace } = useHere();
  const params = { workspace: workspace.id };
  return (
    <Panel>
      <div className="stack">
        <Facts
          facts={[
            [
              'Agent',
              trace.agent === null ? (
                provisionalAgent(trace.provisional_agent_name)
              ) : (
                <Link key="agent" to="/w/$workspace/agents/$agent" params={{ ...params, agent: trace.agent.id }}>
                  {trace.agent.name}
                </Link>
              ),
            ],
            ['Duration', duration(trace.latency_ms)],
            ['Tokens', tokens(trace)],
            ['Cost', dollars(trace.cost_usd)],
            ['Steps', trace.span_count === undefined ? undefined : count(trace.span_count)],
            ['Began', trace.started_at === null ? '–' : <When key="at" at={trace.started_at} />],
            [
              'Session',
              trace.session_id === null ? (
                '–'
              ) : (
                <Link key="session" to="/w/$workspace/runs" params={params} search={{ session_id: trace.session_id }}>
                  {trace.session_id}
                </Link>
              ),
            ],
            ['User of the sender', trace.external_user_id ?? '–'],
            ...more,
          ]}
        />
        {trace.detail !== null && <p className="soft">{trace.detail}</p>}
      </div>
    </Panel>
  );
}

const provisionalAgent = (name: string | null): string =>
  name === null ? 'none named' : `${name} (provisional, not registered)`;

function tokens({ prompt_tokens, completion_tokens, total_tokens }: Run): string {
  if (total_tokens === null) return '–';
  if (prompt_tokens === null && completion_tokens === null) return count(total_tokens);
  return `${count(total_tokens)} (${count(prompt_tokens)} in, ${count(completion_tokens)} out)`;
}
