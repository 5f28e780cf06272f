import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { formatPercent } from '../../components/number-format.ts';
import { PromotionStatus } from '../../components/promotion-status.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { ExampleBadge, RiskBadge } from '../../components/status-badges.tsx';
import { DataTable, rowLink } from '../../lists/data-table.tsx';

type Agent = ListItem<'agents.list'>;

/** A table of agents with their promotion status and, for a blocked agent, the reasons. */
export function PromotionTable({ agents }: { agents: readonly Agent[] }) {
  const { workspace } = useWorkspace();
  return (
    <DataTable
      label="Promotion status of agents"
      items={agents}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Agent',
          wide: true,
          cell: ({ id, name, risk_level }) => (
            <span className="row">
              <Link className={rowLink} to="/w/$workspace/agents/$agent" params={{ workspace: workspace.id, agent: id }}>
                {visibleSpaces(name)}
              </Link>
              <ExampleBadge agent={name} />
              {risk_level === 'high' && <RiskBadge level="high" />}
            </span>
          ),
        },
        {
          title: 'Promotable now',
          wide: true,
          line: true,
          cell: (agent) => <PromotionStatus agent={agent} />,
        },
        { title: 'Pass rate', numeric: true, cell: ({ latest_evaluation }) => formatPercent(latest_evaluation?.pass_rate) },
        {
          title: 'Last evaluation',
          cell: ({ latest_evaluation }) => <RelativeTime at={latest_evaluation?.recorded_at ?? null} />,
        },
      ]}
    />
  );
}
