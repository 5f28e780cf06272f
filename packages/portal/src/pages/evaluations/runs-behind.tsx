import { Link } from '@tanstack/react-router';
import type { Answer } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { Facts } from '../../pieces/facts.tsx';
import { count, dollars } from '../../pieces/figures.ts';
import { Panel } from '../../pieces/panel.tsx';
import { When } from '../../pieces/when.tsx';
import { RunsSample } from './runs-sample.tsx';

type Runs = NonNullable<Answer<'evaluations.read'>['runs']>;

/** The agent's runs between the evaluation before and this one: what may stand behind it. */
export function RunsBehind({ runs, agent }: { runs: Runs; agent: string }) {
  const { workspace } = useHere();
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
              since its evaluation before, <When at={from} />
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
        <Facts
          facts={[
            ['Runs', count(totals.runs)],
            ['Not successful', count(totals.failures)],
            ['With an error', count(totals.errors)],
            ['Tokens', count(totals.total_tokens)],
            ['Cost', dollars(totals.cost_usd)],
            ['Models', models.length === 0 ? '–' : models.map(({ model, steps }) => `${model} (${steps})`).join(', ')],
          ]}
        />
        {totals.runs > 0 && <RunsSample agent={agent} from={from} to={to} />}
      </div>
    </Panel>
  );
}
