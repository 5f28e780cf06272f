import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call, type ResponseBody, urlOf } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { ConditionList, replaceEvaluationId } from '../../components/condition-list.tsx';
import { DetailPage } from '../../components/detail-page.tsx';
import { DownloadButton } from '../../components/download-button.tsx';
import type { CheckedEvaluation } from '../../components/failed-conditions.ts';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatAge, formatCountOf, formatPercent } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { ExactTime } from '../../components/relative-time.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { EvaluationStatusBadge, VerdictBadge } from '../../components/status-badges.tsx';
import styles from './decision-page.module.css';
import { DecisionProof } from './decision-proof.tsx';
import { EvidencePanel } from './evidence-panel.tsx';

type Decision = ResponseBody<'decisions.read'>;

/** The page of one decision: verdict, conditions, inputs, evidence and proof. */
export function DecisionPage() {
  const { decision: id } = useParams({ strict: false }) as { decision: string };
  const { workspace } = useWorkspace();
  const query = useQuery({
    queryKey: ['decision', workspace.id, id],
    queryFn: ({ signal }) => call('decisions.read', { params: { workspace: workspace.id, decision: id }, signal }),
  });
  return (
    <DetailPage
      title="Decision"
      list={{ to: '/w/$workspace/decisions', label: 'Decisions' }}
      query={query}
      skeletonHeightPx={320}
    >
      {(data, crumb) => {
        const evaluation = 'id' in data.decision.evaluation ? (data.decision.evaluation as CheckedEvaluation) : null;
        const params = { workspace: workspace.id, decision: id };
        const name = visibleSpaces(data.agent?.name ?? data.asked_for ?? 'an unknown agent');
        return (
          <>
            <PageHeader
              title={`${data.allowed ? 'Allowed' : 'Blocked'}: ${name}`}
              crumb={crumb}
              lead={
                <span className="row">
                  <VerdictBadge allowed={data.allowed} />
                  <span>
                    Decision {data.seq}, <ExactTime at={data.decided_at} />, requested by <Actor by={data.asked_by} />
                  </span>
                </span>
              }
              actions={
                <>
                  <DownloadButton url={urlOf('decisions.document', { params })} label="Signed JSON" />
                  <DownloadButton url={urlOf('decisions.evidence', { params })} label="Evidence" />
                  {data.attestation !== null && (
                    <DownloadButton url={urlOf('decisions.attestation', { params })} label="Attestation" />
                  )}
                </>
              }
            />
            <div className={styles.columns}>
              <div className="stack">
                <Panel title="Conditions">
                  <div className="stack">
                    <Notice kind={data.allowed ? 'good' : 'problem'}>
                      <p>{replaceEvaluationId(data.decision.message, evaluation)}</p>
                    </Notice>
                    <ConditionList checks={data.decision.checks} agent={data.agent?.id ?? null} evaluation={evaluation} />
                  </div>
                </Panel>
                <Inputs decision={data} />
                <EvidencePanel text={data.evidence} />
              </div>
              <DecisionProof decision={data} />
            </div>
            <Panel
              title="Signed document"
              note="Shown with indentation. The Signed JSON button downloads the exact text. Hash and signature cover the canonical form."
            >
              <Snippet text={JSON.stringify(data.decision, null, 2)} what="the decision as JSON" />
            </Panel>
          </>
        );
      }}
    </DetailPage>
  );
}

function Inputs({ decision: { decision, agent, asked_for } }: { decision: Decision }) {
  const { workspace } = useWorkspace();
  const { evaluation, max_age_hours: maxAgeHours } = decision;
  return (
    <Panel title="Inputs">
      <PropertyList
        facts={[
          [
            'Agent',
            agent === null ? (
              `${visibleSpaces(asked_for ?? 'agent')} (unknown)`
            ) : (
              <Link key="agent" to="/w/$workspace/agents/$agent" params={{ workspace: workspace.id, agent: agent.id }}>
                {visibleSpaces(agent.name)}
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
            'Evaluation status',
            'status' in evaluation ? <EvaluationStatusBadge key="status" status={evaluation.status as 'passing'} /> : undefined,
          ],
          ['Pass rate', `${formatPercent(decision.actual_threshold)} (required: ${formatPercent(decision.required_threshold)})`],
          ['Evaluation age', decision.evaluation_age === null ? '–' : formatAge(decision.evaluation_age)],
          // Decisions of older versions do not state the harness and the maximum age.
          ['Harness requested', decision.harness_id === undefined ? undefined : (decision.harness_id ?? 'any')],
          ['Maximum age', maxAgeHours === undefined ? undefined : formatCountOf(maxAgeHours, 'hour', 'hours')],
          ['Event', <code key="event">{decision.event}</code>],
          ['Rule', <code key="rule">{decision.policy}</code>],
          ['ID', <Identifier key="id" value={decision.decision_id} what="the decision ID" shownCharacters={8} />],
        ]}
      />
    </Panel>
  );
}
