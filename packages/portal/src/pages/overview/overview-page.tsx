import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ResponseBody } from '../../api/call.ts';
import { overviewQuery } from '../../api/overview.ts';
import { useWorkspace } from '../../api/session.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { DifferingRows } from './differing-rows.tsx';
import { FirstSteps } from './first-steps.tsx';
import { LatestDecisions } from './latest-decisions.tsx';
import styles from './overview-page.module.css';
import { PendingList } from './pending-list.tsx';
import { PromotionTable } from './promotion-table.tsx';
import { UsageCharts } from './usage-charts.tsx';

const AGENTS_SHOWN = 8;
/** So many agents that could be promoted are shown, however many could not. */
const PROMOTABLE_SHOWN_MIN = 3;

/** How often the page looks whether another of the first steps is done. */
const FIRST_STEPS_MS = 3_000;

/** How the workspace stands: who could be promoted, what waits, what ran, what was decided. */
export function OverviewPage() {
  const { workspace } = useWorkspace();
  const overview = useQuery({
    ...overviewQuery(workspace.id),
    // The first steps are ticked while somebody watches. A hidden page does not ask.
    refetchInterval: ({ state }) => (state.data?.has.decisions === false ? FIRST_STEPS_MS : false),
  });
  if (overview.data === undefined) {
    return (
      <>
        <PageHeader title="Overview" />
        {overview.isError ? (
          <ProblemNotice problem={overview.error} retry={() => void overview.refetch()} />
        ) : (
          <BlockSkeleton height={360} />
        )}
      </>
    );
  }
  const { data } = overview;
  const chosen = choose(data.agents);
  return (
    <>
      <PageHeader title="Overview" lead={<Lead overview={data} />} />
      <div className="stack">
        <DifferingRows rows={data.differing_rows} />
        <FirstSteps overview={data} />
        {data.agents_total > 0 && (
          <div className={styles.columns}>
            <Panel
              title="Promotion, as it stands now"
              note="By the default rule: a passing evaluation of the last 72 hours, at 80 % or more."
              actions={
                <Link to="/w/$workspace/agents" params={{ workspace: workspace.id }}>
                  All agents
                </Link>
              }
              flush
            >
              <PromotionTable agents={chosen} />
              {data.agents_total > chosen.length && (
                <p className={styles.more}>
                  <Link to="/w/$workspace/agents" params={{ workspace: workspace.id }}>
                    {data.agents_total - chosen.length} more
                  </Link>
                </p>
              )}
            </Panel>
            <PendingList overview={data} />
          </div>
        )}
        {data.has.runs && <UsageCharts />}
        {data.has.decisions && <LatestDecisions decisions={data.decisions} />}
      </div>
    </>
  );
}

/** Agents that could not be promoted and agents that could, in the order they have; neither kind leaves the other out. */
function choose(agents: ResponseBody<'overview.read'>['agents']) {
  const promotable = agents.filter(({ standing }) => standing.promotable).length;
  const blockedShown = AGENTS_SHOWN - Math.min(promotable, PROMOTABLE_SHOWN_MIN);
  const blocked = agents.filter(({ standing }) => !standing.promotable).slice(0, blockedShown);
  return [...blocked, ...agents.filter(({ standing }) => standing.promotable).slice(0, AGENTS_SHOWN - blocked.length)];
}

function Lead({ overview }: { overview: ResponseBody<'overview.read'> }) {
  const { agents_total: all, promotable, blocked, has } = overview;
  if (all === 0 && (has.runs || has.evaluations))
    return 'No agents are listed. Archived agents are on the Agents page, by its filter.';
  if (all === 0) return 'Nothing has been reported to this workspace yet.';
  return (
    <>
      <strong>{promotable}</strong> of {promotable + blocked} {promotable + blocked === 1 ? 'agent' : 'agents'} could be promoted
      now
      {blocked > 0 ? `; ${blocked} could not.` : '.'}
    </>
  );
}
