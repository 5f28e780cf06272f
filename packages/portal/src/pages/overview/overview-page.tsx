import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ResponseBody } from '../../api/call.ts';
import { overviewQuery } from '../../api/overview.ts';
import { useWorkspace } from '../../api/session.ts';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { DifferingRows } from '../../components/differing-rows.tsx';
import { formatCountOf } from '../../components/number-format.ts';
import { OutdatedNotice } from '../../components/outdated-notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { FirstSteps } from './first-steps.tsx';
import { LatestDecisions } from './latest-decisions.tsx';
import styles from './overview-page.module.css';
import { PendingList } from './pending-list.tsx';
import { PromotionTable } from './promotion-table.tsx';
import { UsageCharts } from './usage-charts.tsx';

const AGENTS_MAX = 8;
/** At least this many promotable agents are shown, or all of them if there are fewer. */
const PROMOTABLE_SHOWN_MIN = 3;

/** The polling interval until the workspace has a decision. */
const FIRST_STEPS_REFRESH_MS = 3_000;

/** The overview page: differing rows, first steps, promotion status, pending items, usage and latest decisions. */
export function OverviewPage() {
  const { workspace } = useWorkspace();
  const overview = useQuery({
    ...overviewQuery(workspace.id),
    // Polling marks completed first steps as done without a reload. React Query does not poll while the page is hidden.
    refetchInterval: ({ state }) => (state.data?.has.decisions === false ? FIRST_STEPS_REFRESH_MS : false),
  });
  if (overview.data === undefined) {
    return (
      <>
        <PageHeader title="Overview" />
        {overview.isError ? (
          <ProblemNotice problem={overview.error} retry={() => void overview.refetch()} />
        ) : (
          <BlockSkeleton heightPx={360} />
        )}
      </>
    );
  }
  const { data } = overview;
  const shownAgents = selectAgents(data.agents);
  return (
    <>
      <OutdatedNotice query={overview} />
      <PageHeader title="Overview" lead={<Lead overview={data} />} />
      <div className="stack">
        <DifferingRows rows={data.differing_rows} />
        <FirstSteps overview={data} />
        {data.agents_total > 0 && (
          <div className={styles.columns}>
            <Panel
              title="Promotion status"
              note="Default criteria: an evaluation at most 72 hours old, with a pass rate of at least 80 %."
              actions={
                <Link to="/w/$workspace/agents" params={{ workspace: workspace.id }}>
                  All agents
                </Link>
              }
              flush
            >
              <PromotionTable agents={shownAgents} />
              {data.agents_total > shownAgents.length && (
                <p className={styles.more}>
                  <Link to="/w/$workspace/agents" params={{ workspace: workspace.id }}>
                    {data.agents_total - shownAgents.length} more{' '}
                    {data.agents_total - shownAgents.length === 1 ? 'agent' : 'agents'}
                  </Link>
                </p>
              )}
            </Panel>
            <PendingList overview={data} />
          </div>
        )}
        {/* Archived agents can have pending approvals and open re-certifications too. */}
        {data.agents_total === 0 && data.approvals_pending + data.recertifications_open > 0 && <PendingList overview={data} />}
        {data.has.runs && <UsageCharts />}
        {data.has.decisions && <LatestDecisions decisions={data.decisions} />}
      </div>
    </>
  );
}

/** Selects up to AGENTS_MAX agents: first blocked ones, then promotable ones, each kind in the given order. */
function selectAgents(agents: ResponseBody<'overview.read'>['agents']) {
  const promotableCount = agents.filter(({ standing }) => standing.promotable).length;
  const blockedMax = AGENTS_MAX - Math.min(promotableCount, PROMOTABLE_SHOWN_MIN);
  const blocked = agents.filter(({ standing }) => !standing.promotable).slice(0, blockedMax);
  return [...blocked, ...agents.filter(({ standing }) => standing.promotable).slice(0, AGENTS_MAX - blocked.length)];
}

function Lead({ overview }: { overview: ResponseBody<'overview.read'> }) {
  const { agents_total: agentsTotal, promotable, blocked, has } = overview;
  if (agentsTotal === 0 && (has.runs || has.evaluations))
    return 'No active agents. If agents are archived, the filter on the Agents page shows them.';
  if (agentsTotal === 0) return 'No data yet.';
  const countText = formatCountOf(promotable + blocked, 'agent', 'agents');
  return (
    <>
      <strong>{promotable}</strong> of {promotable + blocked < agentsTotal ? `the first ${countText}` : countText} can be promoted
      now
      {blocked > 0 ? `; ${blocked} cannot.` : '.'}
    </>
  );
}
