import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { ConditionList } from '../../components/condition-list.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { ApprovalStatusBadge, EvaluationStatusBadge, RiskBadge } from '../../components/status-badges.tsx';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { RelatedRuns } from '../evaluations/related-runs.tsx';
import { ReportedDetails } from '../evaluations/reported-details.tsx';
import { ApprovalActions } from './approval-actions.tsx';
import styles from './approval-page.module.css';
import { Changes } from './changes.tsx';

type Detail = ResponseBody<'approvals.read'>;

/** What is being approved: the evaluation, who submitted it, what changed, the runs behind it; and the decision about it. */
export function ApprovalPage() {
  const { evaluation: id } = useParams({ strict: false }) as { evaluation: string };
  const { workspace } = useWorkspace();
  const read = useQuery({
    queryKey: ['approval', workspace.id, id],
    queryFn: ({ signal }) => call('approvals.read', { params: { workspace: workspace.id, evaluation: id }, signal }),
  });
  const crumb = (
    <Link to="/w/$workspace/approvals" params={{ workspace: workspace.id }}>
      Approvals
    </Link>
  );
  if (read.data === undefined) {
    return (
      <>
        <PageHeader title="Approval" crumb={crumb} />
        {read.isError ? <ProblemNotice problem={read.error} retry={() => void read.refetch()} /> : <BlockSkeleton height={320} />}
      </>
    );
  }
  const { data } = read;
  return (
    <>
      <PageHeader
        title={`${data.agent.name}: ${data.evaluation.name}`}
        crumb={crumb}
        lead={
          <span className="row">
            <ApprovalStatusBadge status={data.approval?.status ?? null} /> <RiskBadge level={data.risk_level} />
            <span>
              submitted by <Actor by={data.evaluation.recorded_by} />, <RelativeTime at={data.evaluation.recorded_at} />
            </span>
          </span>
        }
        actions={<ApprovalActions detail={data} />}
      />
      <div className="stack">
        {!data.is_latest && (
          <Notice kind="warning">
            <p>
              A newer evaluation of this agent has come since. Promotion checks look at that one; deciding this one changes
              nothing for them.
            </p>
          </Notice>
        )}
        {data.risk_level === 'low' && (
          <Notice kind="quiet">
            <p>The agent is of low risk now: its evaluations need no approval.</p>
          </Notice>
        )}
        <div className={styles.columns}>
          <EvaluationPanel detail={data} />
          <Panel title="Would the agent be promoted now?" note="By the default rule.">
            <ConditionList
              checks={data.standing.checks}
              agent={data.agent.id}
              evaluation={data.is_latest ? data.evaluation : null}
            />
          </Panel>
        </div>
        <Changes detail={data} />
        <RelatedRuns runs={data.runs} agent={data.agent.id} />
      </div>
    </>
  );
}

function EvaluationPanel({ detail: { evaluation, details, notes, approval, agent } }: { detail: Detail }) {
  const { workspace } = useWorkspace();
  const params = { workspace: workspace.id };
  return (
    <Panel
      title="The evaluation"
      actions={
        <Link to="/w/$workspace/evaluations/$evaluation" params={{ ...params, evaluation: evaluation.id }}>
          All of it
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
                {agent.name}
              </Link>,
            ],
            ['Category', evaluation.category ?? '–'],
            ['Approval asked by', approval === null ? undefined : <Actor key="asked" by={approval.requested_by} />],
            ['Decided by', approval?.decided_by == null ? undefined : <Actor key="by" by={approval.decided_by} />],
            ['Decided', approval?.decided_at == null ? undefined : <RelativeTime key="at" at={approval.decided_at} />],
            [
              'Used by',
              approval?.used_by == null ? undefined : (
                <Link key="used" to="/w/$workspace/decisions/$decision" params={{ ...params, decision: approval.used_by }}>
                  an allowed decision
                </Link>
              ),
            ],
          ]}
        />
        <ReportedDetails details={details} />
        {notes !== null && <PropertyList wide facts={[['Notes of its sender', notes]]} />}
        {approval?.rationale != null && <PropertyList wide facts={[['Rationale', approval.rationale]]} />}
      </div>
    </Panel>
  );
}
