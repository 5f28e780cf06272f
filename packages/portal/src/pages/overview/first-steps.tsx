import { Button } from '@mantine/core';
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { Panel } from '../../components/panel.tsx';
import { ExampleRequest } from '../../lists/empty-state.tsx';
import { MintKey } from '../keys/mint-key.tsx';
import { type NewKey, NewKeyDialog } from '../keys/new-key-dialog.tsx';
import styles from './first-steps.module.css';

/** The onboarding steps of a workspace without decisions. After the first decision, the steps stay until the person leaves the page. */
export function FirstSteps({ overview: { has, decisions } }: { overview: ResponseBody<'overview.read'> }) {
  const { workspace, role } = useWorkspace();
  const [isOnboarding] = useState(!has.decisions);
  const [isMinting, setIsMinting] = useState(false);
  const [newKey, setNewKey] = useState<NewKey>();
  if (!isOnboarding) return null;
  const steps: { title: string; isDone: boolean; instructions: ReactNode }[] = [
    {
      title: 'Mint an ingestion key',
      isDone: has.keys,
      instructions:
        role === 'admin' ? (
          <Button onClick={() => setIsMinting(true)}>Mint key</Button>
        ) : (
          <p className="soft">Ask an admin of this workspace to mint a key for you.</p>
        ),
    },
    {
      title: 'Report a run',
      isDone: has.runs,
      instructions: <ExampleRequest path="/api/public/traces" scope="telemetry" body={TRACE} />,
    },
    {
      title: 'Record an evaluation',
      isDone: has.evaluations,
      instructions: <ExampleRequest path="/api/public/evaluations" scope="evaluations" body={EVALUATION} />,
    },
    {
      title: 'Request a promotion decision',
      isDone: has.decisions,
      instructions: <ExampleRequest path="/api/public/governance/promotion-check" scope="governance" body={PROMOTION_CHECK} />,
    },
  ];
  const nextIndex = steps.findIndex(({ isDone }) => !isDone);
  const [decision] = decisions;
  return (
    <Panel
      title="First steps"
      note="To get a signed decision, you need one key and three requests. Completed steps are checked off automatically."
    >
      <ol className={styles.steps}>
        {steps.map(({ title, isDone, instructions }, index) => (
          <li key={title} data-done={isDone || undefined}>
            {isDone ? <IconCircleCheckFilled size={20} aria-hidden /> : <IconCircle size={20} aria-hidden />}
            <div>
              <h3>
                {title}
                {isDone && <span className="visually-hidden"> (done)</span>}
              </h3>
              {index === nextIndex && instructions}
            </div>
          </li>
        ))}
      </ol>
      <MintKey
        opened={isMinting}
        onClose={() => setIsMinting(false)}
        onShow={({ key }, facts) => setNewKey({ ...facts, key })}
        preset={FIRST_KEY}
      />
      <NewKeyDialog newKey={newKey} onClose={() => setNewKey(undefined)} />
      {nextIndex === -1 && decision !== undefined && (
        <p className={styles.end} role="status">
          All steps are done.{' '}
          <Link to="/w/$workspace/decisions/$decision" params={{ workspace: workspace.id, decision: decision.id }}>
            View the signed decision
          </Link>
        </p>
      )}
    </Panel>
  );
}

const FIRST_KEY = { name: 'first-steps', scopes: ['telemetry', 'evaluations', 'audit', 'governance'] };
const TRACE = {
  trace_id: 'example-run-1',
  agent_name: EXAMPLE_AGENT,
  spans: [{ span_id: 's1', kind: 'llm', name: 'plan', prompt_tokens: 812, completion_tokens: 64, cost_usd: 0.0042 }],
};
const EVALUATION = { name: 'nightly-regression', agent_name: EXAMPLE_AGENT, status: 'passing', pass_rate: 92.5 };
const PROMOTION_CHECK = { agent_name: EXAMPLE_AGENT, min_pass_rate: 90, max_age_hours: 24 };
