import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { DetailPage } from '../../components/detail-page.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { ExactTime } from '../../components/relative-time.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { ApprovalStatusBadge, EvaluationStatusBadge } from '../../components/status-badges.tsx';
import { OlderEvaluationNotice } from './older-evaluation-notice.tsx';
import { RelatedRuns } from './related-runs.tsx';
import { ReportedDetails } from './reported-details.tsx';

type Evaluation = ResponseBody<'evaluations.read'>;

/** The page of one evaluation: result, approval, related runs and original request. */
export function EvaluationPage() {
  const { evaluation: id } = useParams({ strict: false }) as { evaluation: string };
  const { workspace } = useWorkspace();
  const query = useQuery({
    queryKey: ['evaluation', workspace.id, id],
    queryFn: ({ signal }) => call('evaluations.read', { params: { workspace: workspace.id, evaluation: id }, signal }),
  });
  return (
    <DetailPage
      title="Evaluation"
      list={{ to: '/w/$workspace/evaluations', label: 'Evaluations' }}
      query={query}
      skeletonHeightPx={280}
    >
      {(data, crumb) => (
        <>
          <PageHeader
            title={data.name}
            crumb={crumb}
            lead={
              <span className="row">
                <EvaluationStatusBadge status={data.status} />
                <span>
                  Recorded <ExactTime at={data.recorded_at} /> by <Actor by={data.recorded_by} />
                </span>
              </span>
            }
            actions={
              data.agent_risk_level === 'high' && (
                <Button
                  component={Link}
                  {...({
                    to: '/w/$workspace/approvals/$evaluation',
                    params: { workspace: workspace.id, evaluation: id },
                  } as object)}
                >
                  View approval
                </Button>
              )
            }
          />
          <div className="stack">
            {data.agent !== null && data.latest_of_agent !== id && (
              <OlderEvaluationNotice kind="quiet" harness={data.harness_id} />
            )}
            <Panel title="Result">
              <ResultProperties evaluation={data} />
            </Panel>
            {data.runs !== null && data.agent !== null && <RelatedRuns runs={data.runs} agent={data.agent.id} />}
            <Panel title="Original request" note="The request body, byte for byte.">
              <Snippet text={data.document} what="the original request" />
            </Panel>
          </div>
        </>
      )}
    </DetailPage>
  );
}

function ResultProperties({ evaluation }: { evaluation: Evaluation }) {
  const { workspace } = useWorkspace();
  const { agent, approval_record: approval } = evaluation;
  return (
    <div className="stack">
      <PropertyList
        facts={[
          ['Pass rate', <strong key="rate">{formatPercent(evaluation.pass_rate)}</strong>],
          [
            'Agent',
            agent === null ? (
              'none (not linked to an agent)'
            ) : (
              <Link key="agent" to="/w/$workspace/agents/$agent" params={{ workspace: workspace.id, agent: agent.id }}>
                {visibleSpaces(agent.name)}
              </Link>
            ),
          ],
          ['Category', evaluation.category ?? '–'],
          ['Severity threshold', evaluation.severity_threshold ?? '–'],
          [
            'Harness',
            evaluation.harness_id === null ? (
              '–'
            ) : (
              <Identifier key="harness" value={evaluation.harness_id} what="the harness ID" shownCharacters={8} />
            ),
          ],
          ['Approval', <ApprovalStatusBadge key="approval" status={approval?.status ?? null} />],
          ['Decided by', approval?.decided_by == null ? undefined : <Actor key="by" by={approval.decided_by} />],
          ['Decided', approval?.decided_at == null ? undefined : <ExactTime key="at" at={approval.decided_at} />],
          ['ID', <Identifier key="id" value={evaluation.id} what="the evaluation ID" shownCharacters={8} />],
        ]}
      />
      <ReportedDetails details={evaluation.details} />
      {approval?.rationale != null && <PropertyList wide facts={[['Rationale', approval.rationale]]} />}
      {evaluation.notes !== null && <PropertyList wide facts={[['Notes', evaluation.notes]]} />}
    </div>
  );
}
