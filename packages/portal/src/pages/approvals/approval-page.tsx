import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type Answer, call } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { ConditionList } from '../../pieces/condition-list.tsx';
import { Facts } from '../../pieces/facts.tsx';
import { percent } from '../../pieces/figures.ts';
import { Notice } from '../../pieces/notice.tsx';
import { PageHeader } from '../../pieces/page-header.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { ProblemNotice } from '../../pieces/problem-notice.tsx';
import { ApprovalState, EvaluationState, Risk } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';
import { DetailsFacts } from '../evaluations/details-facts.tsx';
import { RunsBehind } from '../evaluations/runs-behind.tsx';
import { ApprovalActs } from './approval-acts.tsx';
import styles from './approval-page.module.css';
import { Changes } from './changes.tsx';

type Detail = Answer<'approvals.read'>;

/** What is being approved: the evaluation, who submitted it, what changed, the runs behind it; and the decision about it. */
export function ApprovalPage() {
  const { evaluation: id } = useParams({ strict: false }) as { evaluation: string };
  const { workspace } = useHere();
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
            <ApprovalState status={data.approval?.status ?? null} /> <Risk level={data.risk_level} />
            <span>
              submitted by <Who by={data.evaluation.recorded_by} />, <When at={data.evaluation.recorded_at} />
            </span>
          </span>
        }
        actions={<ApprovalActs detail={data} />}
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
        <RunsBehind runs={data.runs} agent={data.agent.id} />
      </div>
    </>
  );
}

function EvaluationPanel({ detail: { evaluation, details, notes, approval, agent } }: { detail: Detail }) {
  const { workspace } = useHere();
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
        <Facts
          facts={[
            ['Pass rate', <strong key="rate">{percent(evaluation.pass_rate)}</strong>],
            ['Status', <EvaluationState key="status" status={evaluation.status} />],
            [
              'Agent',
              <Link key="agent" to="/w/$workspace/agents/$agent" params={{ ...params, agent: agent.id }}>
                {agent.name}
              </Link>,
            ],
            ['Category', evaluation.category ?? '–'],
            ['Approval asked by', approval === null ? undefined : <Who key="asked" by={approval.requested_by} />],
            ['Decided by', approval?.decided_by == null ? undefined : <Who key="by" by={approval.decided_by} />],
            ['Decided', approval?.decided_at == null ? undefined : <When key="at" at={approval.decided_at} />],
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
        <DetailsFacts details={details} />
        {notes !== null && <Facts wide facts={[['Notes of its sender', notes]]} />}
        {approval?.rationale != null && <Facts wide facts={[['Rationale', approval.rationale]]} />}
      </div>
    </Panel>
  );
}
