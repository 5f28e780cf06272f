import { Link } from '@tanstack/react-router';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { formatCount, formatDollars } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { LatestRuns } from './latest-runs.tsx';

type Runs = NonNullable<ResponseBody<'evaluations.read'>['runs']>;

/** The agent's runs between the evaluation before and this one: what may stand behind it. */
export function RelatedRuns({ runs, agent }: { runs: Runs; agent: string }) {
  const { workspace } = useWorkspace();
  const { totals, models, from, to } = runs;
  return (
    <Panel
      title="Runs behind it"
      note={
        <>
          The agent's runs{' '}
          {from === null ? (
            'until it was recorded'
          ) : (
            <>
              since its evaluation before, <RelativeTime at={from} />
            </>
          )}
          . Senders link no run to an evaluation.
        </>
      }
      actions={
        <Link
          to="/w/$workspace/runs"
          params={{ workspace: workspace.id }}
          search={{ agent_id: agent, before: to, ...(from === null ? {} : { since: from }) }}
        >
          All of these runs
        </Link>
      }
    >
      <div className="stack">
        <PropertyList
          facts={[
            ['Runs', formatCount(totals.runs)],
            ['Not successful', formatCount(totals.failures)],
            ['With an error', formatCount(totals.errors)],
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
