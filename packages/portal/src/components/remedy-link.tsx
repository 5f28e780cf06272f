import type { ConditionCheck } from '@countersign/core/contract/promotion-check';
import { shorten } from '@countersign/core/domain/shorten';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../api/call.ts';
import { useWorkspace } from '../api/session.ts';
import type { CheckedEvaluation } from './failed-conditions.ts';

/** At most this many incidents have their own link. If there are more, or none is loaded, a link to the list of incidents follows. */
const INCIDENTS_MAX = 3;
const NAME_LENGTH_MAX = 60;

interface Remedy {
  check: ConditionCheck;
  agent: string;
  evaluation: CheckedEvaluation | null;
}

/**
 * Links to the remedy of a failed condition: the evaluation, the approval of the evaluation, or the open incidents of the agent. If the
 * check used no evaluation, links to the list of the agent's evaluations.
 */
export function RemedyLink({ check, agent, evaluation }: Remedy) {
  const { workspace } = useWorkspace();
  if (check.condition === 'recertification') return <OpenIncidents agent={agent} />;
  if (evaluation === null) {
    return (
      <Link to="/w/$workspace/evaluations" params={{ workspace: workspace.id }} search={{ agent_id: agent }}>
        Evaluations of this agent
      </Link>
    );
  }
  const params = { workspace: workspace.id, evaluation: evaluation.id };
  return check.condition === 'high_risk_approval' ? (
    <Link to="/w/$workspace/approvals/$evaluation" params={params}>
      Approval of <bdi>{shorten(evaluation.name, NAME_LENGTH_MAX)}</bdi>
    </Link>
  ) : (
    <Link to="/w/$workspace/evaluations/$evaluation" params={params}>
      <bdi>{shorten(evaluation.name, NAME_LENGTH_MAX)}</bdi>
    </Link>
  );
}

function OpenIncidents({ agent }: { agent: string }) {
  const { workspace } = useWorkspace();
  const incidents = useQuery({
    queryKey: ['incidents', workspace.id, 'open-of-agent', agent],
    queryFn: ({ signal }) =>
      call('incidents.list', {
        params: { workspace: workspace.id },
        query: { agent_id: agent, recertification: 'open', limit: String(INCIDENTS_MAX) },
        signal,
      }),
  });
  const { items = [], next = null } = incidents.data ?? {};
  return (
    <>
      {items.map(({ id, description }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Link to="/w/$workspace/incidents/$incident" params={{ workspace: workspace.id, incident: id }}>
            Incident: <bdi>{shorten(description, NAME_LENGTH_MAX)}</bdi>
          </Link>
        </span>
      ))}
      {(items.length === 0 || next !== null) && (
        <>
          {items.length > 0 && ', '}
          <Link
            to="/w/$workspace/incidents"
            params={{ workspace: workspace.id }}
            search={{
              agent_id: agent,
              ...(incidents.data !== undefined && items.length === 0 ? {} : { recertification: 'open' }),
            }}
          >
            {incidents.data !== undefined && items.length === 0
              ? 'Incidents of this agent (no open re-certification)'
              : 'All open re-certifications of this agent'}
          </Link>
        </>
      )}
    </>
  );
}
