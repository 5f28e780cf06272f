import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call, type ResponseBody, urlOf } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { ConditionList, withEvaluationName } from '../../components/condition-list.tsx';
import type { CheckedEvaluation } from '../../components/failed-conditions.ts';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { EvaluationStatusBadge, VerdictBadge } from '../../components/status-badges.tsx';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import styles from './decision-page.module.css';
import { DecisionProof } from './decision-proof.tsx';
import { EvidencePanel } from './evidence-panel.tsx';

type Decision = ResponseBody<'decisions.read'>;

/** One decision: what was decided and why, condition by condition, and whether it is still as it was signed. */
export function DecisionPage() {
  const { decision: id } = useParams({ strict: false }) as { decision: string };
  const { workspace } = useWorkspace();
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
            <VerdictBadge allowed={data.allowed} />
            <span>
              decision no. {data.seq}, <RelativeTime at={data.decided_at} />, asked by <Actor by={data.asked_by} />
            </span>
          </span>
        }
        actions={
          <>
            <Download address={urlOf('decisions.document', { params })} label="Signed JSON" />
            {data.evidence !== null && <Download address={urlOf('decisions.evidence', { params })} label="Evidence" />}
            {data.attestation !== null && <Download address={urlOf('decisions.attestation', { params })} label="Attestation" />}
          </>
        }
      />
      <div className={styles.columns}>
        <div className="stack">
          <Panel title="Conditions">
            <div className="stack">
              <Notice kind={data.allowed ? 'good' : 'problem'}>
                <p>{withEvaluationName(data.decision.message, evaluation)}</p>
              </Notice>
              <ConditionList checks={data.decision.checks} agent={data.agent?.id ?? null} evaluation={evaluation} />
            </div>
          </Panel>
          <Evidence decision={data} />
          {data.evidence !== null && <EvidencePanel text={data.evidence} />}
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
  const { workspace } = useWorkspace();
  const { evaluation } = decision;
  return (
    <Panel title="What it rested on">
      <PropertyList
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
            'status' in evaluation ? <EvaluationStatusBadge key="status" status={evaluation.status as 'passing'} /> : undefined,
          ],
          ['Pass rate', `${formatPercent(decision.actual_threshold)} of ${formatPercent(decision.required_threshold)} required`],
          ['Age of the evaluation', decision.evaluation_age === null ? '–' : age(decision.evaluation_age)],
          ['Event', <code key="event">{decision.event}</code>],
          ['Rule', <code key="rule">{decision.policy}</code>],
          ['Id', <Identifier key="id" value={decision.decision_id} what="the decision's id" short={8} />],
        ]}
      />
    </Panel>
  );
}
