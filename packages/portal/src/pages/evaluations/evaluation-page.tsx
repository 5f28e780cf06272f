import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type Answer, call } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { Facts } from '../../pieces/facts.tsx';
import { percent } from '../../pieces/figures.ts';
import { Identifier } from '../../pieces/identifier.tsx';
import { Notice } from '../../pieces/notice.tsx';
import { PageHeader } from '../../pieces/page-header.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { ProblemNotice } from '../../pieces/problem-notice.tsx';
import { Snippet } from '../../pieces/snippet.tsx';
import { ApprovalState, EvaluationState } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';
import { DetailsFacts } from './details-facts.tsx';
import { RunsBehind } from './runs-behind.tsx';

type Evaluation = Answer<'evaluations.read'>;

/** One evaluation: how it went, what may stand behind it, and its approval. */
export function EvaluationPage() {
  const { evaluation: id } = useParams({ strict: false }) as { evaluation: string };
  const { workspace } = useHere();
  const read = useQuery({
    queryKey: ['evaluation', workspace.id, id],
    queryFn: ({ signal }) => call('evaluations.read', { params: { workspace: workspace.id, evaluation: id }, signal }),
  });
  const crumb = (
    <Link to="/w/$workspace/evaluations" params={{ workspace: workspace.id }}>
      Evaluations
    </Link>
  );
  if (read.data === undefined) {
    return (
      <>
        <PageHeader title="Evaluation" crumb={crumb} />
        {read.isError ? <ProblemNotice problem={read.error} retry={() => void read.refetch()} /> : <BlockSkeleton height={280} />}
      </>
    );
  }
  const { data } = read;
  return (
    <>
      <PageHeader
        title={data.name}
        crumb={crumb}
        lead={
          <span className="row">
            <EvaluationState status={data.status} />
            <span>
              recorded <When at={data.recorded_at} /> by <Who by={data.recorded_by} />
            </span>
          </span>
        }
        actions={
          data.agent_risk_level === 'high' && (
            <Button
              component={Link}
              {...({ to: '/w/$workspace/approvals/$evaluation', params: { workspace: workspace.id, evaluation: id } } as object)}
            >
              Go to its approval
            </Button>
          )
        }
      />
      <div className="stack">
        {data.agent !== null && data.latest_of_agent !== id && (
          <Notice kind="quiet">
            <p>A newer evaluation of this agent decides now; this one is history.</p>
          </Notice>
        )}
        <Panel title="Outcome">
          <OutcomeFacts evaluation={data} />
        </Panel>
        {data.runs !== null && data.agent !== null && <RunsBehind runs={data.runs} agent={data.agent.id} />}
        <Panel title="As it came" note="The body that recorded it.">
          <Snippet text={data.document} what="the evaluation as it came" />
        </Panel>
      </div>
    </>
  );
}

function OutcomeFacts({ evaluation }: { evaluation: Evaluation }) {
  const { workspace } = useHere();
  const { agent, approval_record: approval } = evaluation;
  return (
    <div className="stack">
      <Facts
        facts={[
          ['Pass rate', <strong key="rate">{percent(evaluation.pass_rate)}</strong>],
          [
            'Agent',
            agent === null ? (
              'none: it counts for no agent'
            ) : (
              <Link key="agent" to="/w/$workspace/agents/$agent" params={{ workspace: workspace.id, agent: agent.id }}>
                {agent.name}
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
              <Identifier key="harness" value={evaluation.harness_id} what="the harness's id" short={8} />
            ),
          ],
          ['Approval', <ApprovalState key="approval" status={approval?.status ?? null} />],
          ['Decided by', approval?.decided_by == null ? undefined : <Who key="by" by={approval.decided_by} />],
          ['Decided', approval?.decided_at == null ? undefined : <When key="at" at={approval.decided_at} />],
          ['Id', <Identifier key="id" value={evaluation.id} what="the evaluation's id" short={8} />],
        ]}
      />
      <DetailsFacts details={evaluation.details} />
      {approval?.rationale != null && <Facts wide facts={[['Rationale', approval.rationale]]} />}
      {evaluation.notes !== null && <Facts wide facts={[['Notes', evaluation.notes]]} />}
    </div>
  );
}
