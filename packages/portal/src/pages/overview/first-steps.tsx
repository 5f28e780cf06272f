import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { FirstCall } from '../../lists/empty-state.tsx';
import { Panel } from '../../pieces/panel.tsx';
import styles from './first-steps.module.css';

/** The workspace's first hour: what to do next, until a decision has been made. */
export function FirstSteps({ has }: { has: Answer<'overview.read'>['has'] }) {
  const { workspace, role } = useHere();
  if (has.decisions) return null;
  const steps: { title: string; done: boolean; how: ReactNode }[] = [
    {
      title: 'Mint an ingestion key',
      done: has.keys,
      how:
        role === 'admin' ? (
          <Link to="/w/$workspace/keys" params={{ workspace: workspace.id }}>
            To the ingestion keys
          </Link>
        ) : (
          <p className="soft">An admin of the workspace does this.</p>
        ),
    },
    {
      title: 'Report what an agent did',
      done: has.runs,
      how: <FirstCall path="/api/public/traces" scope="telemetry" body={TRACE} />,
    },
    {
      title: 'Record how it was evaluated',
      done: has.evaluations,
      how: <FirstCall path="/api/public/evaluations" scope="evaluations" body={EVALUATION} />,
    },
    {
      title: 'Ask whether it may be promoted',
      done: has.decisions,
      how: <FirstCall path="/api/public/governance/promotion-check" scope="governance" body={QUESTION} />,
    },
  ];
  const next = steps.findIndex(({ done }) => !done);
  return (
    <Panel title="First steps" note="A key and three calls take an agent from its first run to a signed decision.">
      <ol className={styles.steps}>
        {steps.map(({ title, done, how }, index) => (
          <li key={title} data-done={done || undefined}>
            {done ? <IconCircleCheckFilled size={20} aria-hidden /> : <IconCircle size={20} aria-hidden />}
            <div>
              <h3>
                {title}
                {done && <span className="visually-hidden"> (done)</span>}
              </h3>
              {index === next && how}
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

const TRACE = {
  trace_id: 'run-1',
  agent_name: 'support-bot',
  spans: [{ span_id: 's1', kind: 'llm', name: 'plan', prompt_tokens: 812, completion_tokens: 64, cost_usd: 0.0042 }],
};
const EVALUATION = { name: 'nightly-regression', agent_name: 'support-bot', status: 'passing', pass_rate: 92.5 };
const QUESTION = { agent_name: 'support-bot', min_pass_rate: 90, max_age_hours: 24 };
