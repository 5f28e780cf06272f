import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { type Answer, call } from '../../api/call.ts';
import { useHere, useMay } from '../../api/session.ts';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { Facts } from '../../pieces/facts.tsx';
import { percent } from '../../pieces/figures.ts';
import { Identifier } from '../../pieces/identifier.tsx';
import { Notice } from '../../pieces/notice.tsx';
import { PageHeader } from '../../pieces/page-header.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { ProblemNotice } from '../../pieces/problem-notice.tsx';
import { EvaluationState, SeverityState } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';
import { toast } from '../../toasts/toasts.tsx';
import { Recertification } from './incident-columns.tsx';

type Incident = Answer<'incidents.read'>;

/** One incident, and the way to close its re-certification. */
export function IncidentPage() {
  const { incident: id } = useParams({ strict: false }) as { incident: string };
  const { workspace } = useHere();
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
            <SeverityState severity={data.severity} />
            <span>
              opened <When at={data.opened_at} /> by <Who by={data.opened_by} />
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
            <IncidentFacts incident={data} />
          </div>
        </Panel>
      </div>
    </>
  );
}

function IncidentFacts({ incident }: { incident: Incident }) {
  const { workspace } = useHere();
  const params = { workspace: workspace.id };
  return (
    <>
      <Facts
        facts={[
          [
            'Agent',
            <Link key="agent" to="/w/$workspace/agents/$agent" params={{ ...params, agent: incident.agent.id }}>
              {incident.agent.name}
            </Link>,
          ],
          ['Re-certification', <Recertification key="state" state={incident.recertification} />],
          ['Closed', incident.closed_at === null ? undefined : <When key="at" at={incident.closed_at} />],
          ['Closed by', incident.closed_by === null ? undefined : <Who key="by" by={incident.closed_by} />],
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
      {incident.closing_rationale !== null && <Facts wide facts={[['Rationale of the closing', incident.closing_rationale]]} />}
    </>
  );
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** The open re-certification: what it takes to close it, and the button that does. */
function Closing({ incident }: { incident: Incident }) {
  const { workspace } = useHere();
  const queries = useQueryClient();
  const approver = useMay('approver');
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
              <EvaluationState status={closing.evaluation.status} />
              <span>{percent(closing.evaluation.pass_rate)}</span>
              <When at={closing.evaluation.recorded_at} />
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
