import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type Answer, addressOf, call } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { ConditionList, withName } from '../../pieces/condition-list.tsx';
import { Facts } from '../../pieces/facts.tsx';
import type { CheckedEvaluation } from '../../pieces/failed-conditions.ts';
import { percent } from '../../pieces/figures.ts';
import { Identifier } from '../../pieces/identifier.tsx';
import { Notice } from '../../pieces/notice.tsx';
import { PageHeader } from '../../pieces/page-header.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { ProblemNotice } from '../../pieces/problem-notice.tsx';
import { Snippet } from '../../pieces/snippet.tsx';
import { EvaluationState, Verdict } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';
import styles from './decision-page.module.css';
import { DecisionProof } from './decision-proof.tsx';
import { EvidenceFacts } from './evidence-facts.tsx';

type Decision = Answer<'decisions.read'>;

/** One decision: what was decided and why, condition by condition, and whether it is still as it was signed. */
export function DecisionPage() {
  const { decision: id } = useParams({ strict: false }) as { decision: string };
  const { workspace } = useHere();
  const read = useQuery({
    queryKey: ['decision', workspace.id, id],
    queryFn: ({ signal }) => call('decisions.read', { params: { workspace: workspace.id, decision: id }, signal }),
  });
  const crumb = (
    <Link to="/w/$workspace/decisions" params={{ workspace: workspace.id }}>
      Decisions
    </Link>
  );
  if (read.data === undefined) {
    return (
      <>
        <PageHeader title="Decision" crumb={crumb} />
        {read.isError ? <ProblemNotice problem={read.error} retry={() => void read.refetch()} /> : <BlockSkeleton height={320} />}
      </>
    );
  }
  const { data } = read;
  const evaluation = 'id' in data.decision.evaluation ? (data.decision.evaluation as CheckedEvaluation) : null;
  const params = { workspace: workspace.id, decision: id };
  const name = data.agent?.name ?? data.asked_for ?? 'an unknown agent';
  return (
    <>
      <PageHeader
        title={`${data.allowed ? 'Allowed' : 'Blocked'}: ${name}`}
        crumb={crumb}
        lead={
          <span className="row">
            <Verdict allowed={data.allowed} />
            <span>
              decision no. {data.seq}, <When at={data.decided_at} />, asked by <Who by={data.asked_by} />
            </span>
          </span>
        }
        actions={
          <>
            <Download address={addressOf('decisions.document', { params })} label="Signed JSON" />
            {data.evidence !== null && <Download address={addressOf('decisions.evidence', { params })} label="Evidence" />}
            {data.attestation !== null && (
              <Download address={addressOf('decisions.attestation', { params })} label="Attestation" />
            )}
          </>
        }
      />
      <div className={styles.columns}>
        <div className="stack">
          <Panel title="Conditions">
            <div className="stack">
              <Notice kind={data.allowed ? 'good' : 'problem'}>
                <p>{withName(data.decision.message, evaluation)}</p>
              </Notice>
              <ConditionList checks={data.decision.checks} agent={data.agent?.id ?? null} evaluation={evaluation} />
            </div>
          </Panel>
          <Evidence decision={data} />
          {data.evidence !== null && <EvidenceFacts text={data.evidence} />}
        </div>
        <DecisionProof decision={data} />
      </div>
      <Panel title="The signed document" note="Exactly as it was answered; hash and signature are over its canonical form.">
        <Snippet text={JSON.stringify(data.decision, null, 2)} what="the decision as JSON" />
      </Panel>
    </>
  );
}

const Download = ({ address, label }: { address: string; label: string }) => (
  <Button component="a" href={address} download variant="default" leftSection={<IconDownload size={15} aria-hidden />}>
    {label}
  </Button>
);

/** An age in hours, in the unit that says most. */
function age(hours: number): string {
  if (hours < 1 / 60) return 'less than a minute';
  return hours < 1 ? `${Math.round(hours * 60)} min` : `${hours.toFixed(1)} hours`;
}

function Evidence({ decision: { decision, agent, asked_for } }: { decision: Decision }) {
  const { workspace } = useHere();
  const { evaluation } = decision;
  return (
    <Panel title="What it rested on">
      <Facts
        facts={[
          [
            'Agent',
            agent === null ? (
              `${asked_for ?? 'the agent'}: not known here`
            ) : (
              <Link key="agent" to="/w/$workspace/agents/$agent" params={{ workspace: workspace.id, agent: agent.id }}>
                {agent.name}
              </Link>
            ),
          ],
          [
            'Evaluation',
            'id' in evaluation ? (
              <Link
                key="evaluation"
                to="/w/$workspace/evaluations/$evaluation"
                params={{ workspace: workspace.id, evaluation: String(evaluation.id) }}
              >
                {String(evaluation.name)}
              </Link>
            ) : (
              'none'
            ),
          ],
          [
            'Its status',
            'status' in evaluation ? <EvaluationState key="status" status={evaluation.status as 'passing'} /> : undefined,
          ],
          ['Pass rate', `${percent(decision.actual_threshold)} of ${percent(decision.required_threshold)} required`],
          ['Age of the evaluation', decision.evaluation_age === null ? '–' : age(decision.evaluation_age)],
          ['Event', <code key="event">{decision.event}</code>],
          ['Rule', <code key="rule">{decision.policy}</code>],
          ['Id', <Identifier key="id" value={decision.decision_id} what="the decision's id" short={8} />],
        ]}
      />
    </Panel>
  );
}
