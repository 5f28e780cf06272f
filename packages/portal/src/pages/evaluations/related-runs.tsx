import { Link } from '@tanstack/react-router';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { formatCount, formatDollars } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { LatestRuns } from './latest-runs.tsx';

type Runs = NonNullable<ResponseBody<'evaluations.read'>['runs']>;

/** A panel about the agent's runs between its previous evaluation and this evaluation: the totals and the latest runs. */
export function RelatedRuns({ runs, agent }: { runs: Runs; agent: string }) {
  const { workspace } = useWorkspace();
  const { totals, models, models_complete: isComplete, from, to, counted_max: countedMax } = runs;
  return (
    <Panel
      title="Related runs"
      note={
        <>
          The agent's runs{' '}
          {from === null ? (
            'before this evaluation'
          ) : (
            <>
              between its previous evaluation (<RelativeTime at={from} />) and this evaluation
            </>
          )}
          . Runs are selected by time, so the evaluation may not have used all of these runs.
          {totals.runs >= countedMax &&
            ` At most the latest ${formatCount(countedMax)} traces and ${formatCount(countedMax)} telemetry events are counted.`}
          {!isComplete && ' Models are read from the latest runs only, so other models may have been used.'}
        </>
      }
      actions={
        <Link
          to="/w/$workspace/runs"
          params={{ workspace: workspace.id }}
          search={{ agent_id: agent, before: to, ...(from === null ? {} : { since: from }) }}
        >
          View all runs
        </Link>
      }
    >
      <div className="stack">
        <PropertyList
          facts={[
            ['Runs', formatCount(totals.runs)],
            ['Outcome other than success', formatCount(totals.failures)],
            ['Arriving or incomplete', totals.unfinished === 0 ? undefined : formatCount(totals.unfinished)],
            ['With errors', formatCount(totals.errors)],
            ['Tokens', formatCount(totals.total_tokens)],
            ['Cost', formatDollars(totals.cost_usd)],
            ['Models', models.length === 0 ? '–' : models.map(({ model, steps }) => `${model} (${steps})`).join(', ')],
          ]}
        />
        {totals.runs > 0 && <LatestRuns agent={agent} from={from} to={to} />}
      </div>
    </Panel>
  );
}
