import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { AlteredNotice } from '../../components/altered-notice.tsx';
import { ConditionList } from '../../components/condition-list.tsx';
import { DetailPage } from '../../components/detail-page.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { ExactTime } from '../../components/relative-time.tsx';
import { ApprovalStatusBadge, EvaluationStatusBadge, RiskBadge } from '../../components/status-badges.tsx';
import { OlderEvaluationNotice } from '../evaluations/older-evaluation-notice.tsx';
import { RelatedRuns } from '../evaluations/related-runs.tsx';
import { ReportedDetails } from '../evaluations/reported-details.tsx';
import { ApprovalActions } from './approval-actions.tsx';
import styles from './approval-page.module.css';
import { Approvers } from './approvers.tsx';
import { Changes } from './changes.tsx';

type Detail = ResponseBody<'approvals.read'>;

/** The page of one approval: the evaluation, its sender, the promotion status, changes, related runs and the actions. */
export function ApprovalPage() {
  const { evaluation: id } = useParams({ strict: false }) as { evaluation: string };
  const { workspace } = useWorkspace();
  const query = useQuery({
    queryKey: ['approval', workspace.id, id],
    queryFn: ({ signal }) => call('approvals.read', { params: { workspace: workspace.id, evaluation: id }, signal }),
  });
  return (
    <DetailPage
      title="Approval"
      list={{ to: '/w/$workspace/approvals', label: 'Approvals' }}
      query={query}
      skeletonHeightPx={320}
    >
      {(data, crumb) => (
        <>
          <PageHeader
            title={`${visibleSpaces(data.agent.name)}: ${data.evaluation.name}`}
            crumb={crumb}
            lead={
              <span className="row">
                <ApprovalStatusBadge status={data.approval?.status ?? null} /> <RiskBadge level={data.risk_level} />
                <span>
                  Recorded <ExactTime at={data.evaluation.recorded_at} /> by <Actor by={data.evaluation.recorded_by} />
                </span>
              </span>
            }
            actions={<ApprovalActions detail={data} />}
          />
          <div className="stack">
            <AlteredNotice record="this approval" fault={data.altered} />
            <AlteredNotice record="the approval of the last approved evaluation" fault={data.last_approved?.altered ?? null} />
            {data.may.approve && <Approvers />}
            {!data.is_latest && <OlderEvaluationNotice kind="warning" harness={data.evaluation.harness_id} />}
            {data.risk_level === 'low' && (
              <Notice kind="quiet">
                <p>
                  This agent is low risk now, so its evaluations do not need approval.
                  {data.approval?.status === 'pending' &&
                    ' This approval stays pending. An admin can set the agent to high risk again. Then the approval can be decided.'}
                </p>
              </Notice>
            )}
            <div className={styles.columns}>
              <EvaluationPanel detail={data} />
              <Panel
                title="Promotion status"
                note="Default criteria: an evaluation at most 72 hours old, with a pass rate of at least 80 %."
              >
                <ConditionList
                  checks={data.standing.checks}
                  agent={data.agent.id}
                  evaluation={data.is_latest ? data.evaluation : null}
                  hidesApprovalLink={data.is_latest}
                />
              </Panel>
            </div>
            <Changes detail={data} />
            <RelatedRuns runs={data.runs} agent={data.agent.id} />
          </div>
        </>
      )}
    </DetailPage>
  );
}

function EvaluationPanel({ detail: { evaluation, details, notes, approval, agent } }: { detail: Detail }) {
  const { workspace } = useWorkspace();
  const params = { workspace: workspace.id };
  return (
    <Panel
      title="Evaluation"
      actions={
        <Link to="/w/$workspace/evaluations/$evaluation" params={{ ...params, evaluation: evaluation.id }}>
          View evaluation
        </Link>
      }
    >
      <div className="stack">
        <PropertyList
          facts={[
            ['Pass rate', <strong key="rate">{formatPercent(evaluation.pass_rate)}</strong>],
            ['Status', <EvaluationStatusBadge key="status" status={evaluation.status} />],
            [
              'Agent',
              <Link key="agent" to="/w/$workspace/agents/$agent" params={{ ...params, agent: agent.id }}>
                {visibleSpaces(agent.name)}
              </Link>,
            ],
            ['Category', evaluation.category ?? '–'],
            // If no promotion check requested the approval, `requested_by` is the person who decided first.
            [
              'Approval requested by',
              approval?.requested_by.startsWith('key:') ? <Actor key="requester" by={approval.requested_by} /> : undefined,
            ],
            ['Decided by', approval?.decided_by == null ? undefined : <Actor key="by" by={approval.decided_by} />],
            ['Decided', approval?.decided_at == null ? undefined : <ExactTime key="at" at={approval.decided_at} />],
            [
              'Approval used by',
              approval?.used_by == null ? undefined : (
                <Link key="used" to="/w/$workspace/decisions/$decision" params={{ ...params, decision: approval.used_by }}>
                  View decision
                </Link>
              ),
            ],
          ]}
        />
        <ReportedDetails details={details} />
        {notes !== null && <PropertyList wide facts={[['Notes from the sender', notes]]} />}
        {approval?.rationale != null && <PropertyList wide facts={[['Rationale', approval.rationale]]} />}
      </div>
    </Panel>
  );
}
