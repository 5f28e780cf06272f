import { Link } from '@tanstack/react-router';
import type { Item } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { DataTable, rowLink } from '../../lists/data-table.tsx';
import { StandingCell } from '../../pieces/failure-list.tsx';
import { percent } from '../../pieces/figures.ts';
import { ExampleMark, Risk } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';

type Agent = Item<'agents.list'>;

/** Agents with whether each could be promoted now, and why not. */
export function AgentStandings({ agents }: { agents: readonly Agent[] }) {
  const { workspace } = useHere();
  return (
    <DataTable
      label="Agents and whether they could be promoted"
      items={agents}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Agent',
          wide: true,
          cell: ({ id, name, risk_level }) => (
            <span className="row">
              <Link className={rowLink} to="/w/$workspace/agents/$agent" params={{ workspace: workspace.id, agent: id }}>
                {name}
              </Link>
              <ExampleMark agent={name} />
              {risk_level === 'high' && <Risk level="high" />}
            </span>
          ),
        },
        {
          title: 'Promotable',
          line: true,
          cell: (agent) => <StandingCell agent={agent} />,
        },
        { title: 'Pass rate', numeric: true, cell: ({ latest_evaluation }) => percent(latest_evaluation?.pass_rate) },
        { title: 'Evaluated', cell: ({ latest_evaluation }) => <When at={latest_evaluation?.recorded_at ?? null} /> },
      ]}
    />
  );
}
