import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { EvaluationStatusBadge, SeverityBadge } from '../../components/status-badges.tsx';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { toast } from '../../toasts/toasts.tsx';
import { RecertificationBadge } from './incident-columns.tsx';

type Incident = ResponseBody<'incidents.read'>;

/** One incident, and the way to close its re-certification. */
export function IncidentPage() {
  const { incident: id } = useParams({ strict: false }) as { incident: string };
  const { workspace } = useWorkspace();
  const read = useQuery({
    queryKey: ['incident', workspace.id, id],
    queryFn: ({ signal }) => call('incidents.read', { params: { workspace: workspace.id, incident: id }, signal }),
  });
  const crumb = (
    <Link to="/w/$workspace/incidents" params={{ workspace: workspace.id }}>
      Incidents
    </Link>
  );
  if (read.data === undefined) {
    return (
      <>
        <PageHeader title="Incident" crumb={crumb} />
        {read.isError ? <ProblemNotice problem={read.error} retry={() => void read.refetch()} /> : <BlockSkeleton height={260} />}
      </>
    );
  }
  const { data } = read;
  return (
    <>
      <PageHeader
        title={`Incident with ${data.agent.name}`}
        crumb={crumb}
        lead={
          <span className="row">
            <SeverityBadge severity={data.severity} />
            <span>
              opened <RelativeTime at={data.opened_at} /> by <Actor by={data.opened_by} />
            </span>
          </span>
        }
      />
      <div className="stack">
        <Closing incident={data} />
        <Panel title="What happened">
          <div className="stack">
            <p className="break" style={{ whiteSpace: 'pre-wrap' }}>
              {data.description}
            </p>
            <IncidentProperties incident={data} />
          </div>
        </Panel>
      </div>
    </>
  );
}

function IncidentProperties({ incident }: { incident: Incident }) {
  const { workspace } = useWorkspace();
  const params = { workspace: workspace.id };
  return (
    <>
      <PropertyList
        facts={[
          [
            'Agent',
            <Link key="agent" to="/w/$workspace/agents/$agent" params={{ ...params, agent: incident.agent.id }}>
              {incident.agent.name}
            </Link>,
          ],
          ['Re-certification', <RecertificationBadge key="state" state={incident.recertification} />],
          ['Closed', incident.closed_at === null ? undefined : <RelativeTime key="at" at={incident.closed_at} />],
          ['Closed by', incident.closed_by === null ? undefined : <Actor key="by" by={incident.closed_by} />],
          [
            'Closed on',
            incident.closing_evaluation_id === null ? undefined : (
              <Link
                key="evaluation"
                to="/w/$workspace/evaluations/$evaluation"
                params={{ ...params, evaluation: incident.closing_evaluation_id }}
              >
                a passing evaluation
              </Link>
            ),
          ],
          ['Id', <Identifier key="id" value={incident.id} what="the incident's id" short={8} />],
        ]}
      />
      {incident.closing_rationale !== null && (
        <PropertyList wide facts={[['Rationale of the closing', incident.closing_rationale]]} />
      )}
    </>
  );
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** The open re-certification: what it takes to close it, and the button that does. */
function Closing({ incident }: { incident: Incident }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const approver = useHasRole('approver');
  const [asking, setAsking] = useState(false);
  const { closing, agent } = incident;
  const others = (closing?.incident_ids.length ?? 1) - 1;
  const act = async (rationale: string) => {
    await call('recertifications.close', { params: { workspace: workspace.id, agent: agent.id }, body: { rationale } });
    toast.done('The re-certification is closed. It no longer holds the agent back.');
    await queries.invalidateQueries();
  };
  // The dialog stays when somebody else has closed it meanwhile: it says so.
  return (
    <>
      {closing !== null && (
        <Notice kind="warning" title="Re-certification is open: the agent is not promoted">
          <p>
            {closing.possible
              ? `${agent.name} has passed an evaluation since: the re-certification can be closed.`
              : sentence(closing.obstacle ?? '')}
          </p>
          {closing.evaluation !== null && (
            <span className="row">
              <span>Latest evaluation:</span>
              <Link
                to="/w/$workspace/evaluations/$evaluation"
                params={{ workspace: workspace.id, evaluation: closing.evaluation.id }}
              >
                {closing.evaluation.name}
              </Link>
              <EvaluationStatusBadge status={closing.evaluation.status} />
              <span>{formatPercent(closing.evaluation.pass_rate)}</span>
              <RelativeTime at={closing.evaluation.recorded_at} />
            </span>
          )}
          {approver && (
            <Button variant="default" disabled={!closing.possible} onClick={() => setAsking(true)}>
              Close the re-certification
            </Button>
          )}
        </Notice>
      )}
      <RationaleDialog
        opened={asking}
        onClose={() => setAsking(false)}
        title={`Close the re-certification of ${agent.name}`}
        submit="Close it"
        act={act}
      >
        <p className="soft">
          It is closed on the latest evaluation, which must be passing and recorded after the incident.
          {others > 0 &&
            ` The re-certifications of ${others} other ${others === 1 ? 'incident' : 'incidents'} of this agent are closed with it.`}
        </p>
      </RationaleDialog>
    </>
  );
}
