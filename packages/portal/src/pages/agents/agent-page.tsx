import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { call, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { PassRateChart } from '../../charts/pass-rate-chart.tsx';
import { Badge } from '../../components/badge.tsx';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { DetailPage } from '../../components/detail-page.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { formatCount } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SimilarAgents } from '../../components/similar-agents.tsx';
import { ExampleBadge, RiskBadge } from '../../components/status-badges.tsx';
import { EmptyState, ExampleRequest } from '../../lists/empty-state.tsx';
import styles from './agent-page.module.css';
import { AgentRecord } from './agent-record.tsx';
import { ArchiveButton } from './archive-button.tsx';
import { PromotionPreview } from './promotion-preview.tsx';
import { RiskButton } from './risk-button.tsx';

/** The page of one agent: promotion preview, pass rates, and records by kind. */
export function AgentPage() {
  const { agent: id } = useParams({ strict: false }) as { agent: string };
  const { workspace } = useWorkspace();
  const agent = useQuery({
    queryKey: ['agent', workspace.id, id],
    queryFn: ({ signal }) => call('agents.read', { params: { workspace: workspace.id, agent: id }, signal }),
  });
  return (
    <DetailPage title="Agent" list={{ to: '/w/$workspace/agents', label: 'Agents' }} query={agent} skeletonHeightPx={320}>
      {(data, crumb) => (
        <>
          <PageHeader
            title={visibleSpaces(data.name)}
            crumb={crumb}
            lead={
              <span className="row">
                <ExampleBadge agent={data.name} />
                <RiskBadge level={data.risk_level} />
                {data.archived_at !== null && (
                  <Badge tone="quiet" dot={false}>
                    archived
                  </Badge>
                )}
                <span>
                  Last seen <RelativeTime at={data.last_seen_at} />
                </span>
                <SimilarAgents workspace={workspace.id} agents={data.similar_to} />
              </span>
            }
            actions={
              <>
                <RiskButton agent={data} />
                <ArchiveButton agent={data} />
              </>
            }
          />
          <div className={styles.columns}>
            <PromotionPreview agent={data} />
            <div className="stack">
              <PassRates agent={id} name={data.name} />
              <Panel>
                <PropertyList
                  facts={[
                    ['Evaluations', formatCount(data.evaluations)],
                    ['Pending approvals', formatCount(data.approvals_pending)],
                    ['Incidents', formatCount(data.incidents)],
                    ['Open re-certifications', formatCount(data.open_recertifications)],
                    ['Registered', <RelativeTime key="at" at={data.created_at} />],
                    ['ID', <Identifier key="id" value={data.id} what="the agent ID" shownCharacters={8} />],
                  ]}
                />
              </Panel>
            </div>
          </div>
          <AgentRecord agent={id} />
        </>
      )}
    </DetailPage>
  );
}

function PassRates({ agent, name }: { agent: string; name: string }) {
  const { workspace } = useWorkspace();
  const rates = useQuery({
    queryKey: ['pass-rates', workspace.id, agent],
    queryFn: ({ signal }) => call('agents.pass_rates', { params: { workspace: workspace.id, agent }, signal }),
  });
  return (
    <Panel title="Pass rates">
      {rates.isError ? (
        <ProblemNotice problem={rates.error} retry={() => void rates.refetch()} />
      ) : rates.data === undefined ? (
        <BlockSkeleton heightPx={220} />
      ) : (
        <Rates rates={rates.data} name={name} />
      )}
    </Panel>
  );
}

function Rates({ rates, name }: { rates: ResponseBody<'agents.pass_rates'>; name: string }) {
  if (rates.points.length > 0) return <PassRateChart rates={rates} />;
  return (
    <EmptyState title="No evaluations yet">
      <p>An agent cannot be promoted without a recent passing evaluation. Send an evaluation:</p>
      <ExampleRequest
        path="/api/public/evaluations"
        body={{ name: 'nightly-regression', agent_name: name, status: 'passing', pass_rate: 92.5 }}
        scope="evaluations"
      />
    </EmptyState>
  );
}
