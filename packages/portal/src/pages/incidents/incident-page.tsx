import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { AlteredNotice } from '../../components/altered-notice.tsx';
import { DetailPage } from '../../components/detail-page.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatPercent } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { ExactTime } from '../../components/relative-time.tsx';
import { EvaluationStatusBadge, SeverityBadge } from '../../components/status-badges.tsx';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';
import { RecertificationBadge } from './incident-columns.tsx';

type Incident = ResponseBody<'incidents.read'>;

/** The page of one incident, with the action to close its re-certification. */
export function IncidentPage() {
  const { incident: id } = useParams({ strict: false }) as { incident: string };
  const { workspace } = useWorkspace();
  const query = useQuery({
    queryKey: ['incident', workspace.id, id],
    queryFn: ({ signal }) => call('incidents.read', { params: { workspace: workspace.id, incident: id }, signal }),
  });
  return (
    <DetailPage
      title="Incident"
      list={{ to: '/w/$workspace/incidents', label: 'Incidents' }}
      query={query}
      skeletonHeightPx={260}
    >
      {(data, crumb) => (
        <>
          <PageHeader
            title={`Incident with ${visibleSpaces(data.agent.name)}`}
            crumb={crumb}
            lead={
              <span className="row">
                <SeverityBadge severity={data.severity} />
                <span>
                  Opened <ExactTime at={data.opened_at} /> by <Actor by={data.opened_by} />
                </span>
              </span>
            }
          />
          <div className="stack">
            <AlteredNotice record="this incident" fault={data.altered} />
            <RecertificationNotice incident={data} />
            <Panel title="What happened">
              <div className="stack">
                <p className="lines">{data.description}</p>
                <IncidentProperties incident={data} />
              </div>
            </Panel>
          </div>
        </>
      )}
    </DetailPage>
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
              {visibleSpaces(incident.agent.name)}
            </Link>,
          ],
          ['Re-certification', <RecertificationBadge key="state" state={incident.recertification} />],
          ['Closed', incident.closed_at === null ? undefined : <ExactTime key="at" at={incident.closed_at} />],
          ['Closed by', incident.closed_by === null ? undefined : <Actor key="by" by={incident.closed_by} />],
          [
            'Closing evaluation',
            incident.closing_evaluation_id === null ? undefined : (
              <Link
                key="evaluation"
                to="/w/$workspace/evaluations/$evaluation"
                params={{ ...params, evaluation: incident.closing_evaluation_id }}
              >
                View evaluation
              </Link>
            ),
          ],
          ['ID', <Identifier key="id" value={incident.id} what="the incident ID" shownCharacters={8} />],
        ]}
      />
      {incident.closing_rationale !== null && <PropertyList wide facts={[['Closing rationale', incident.closing_rationale]]} />}
    </>
  );
}

const asSentence = (text: string): string => visibleSpaces(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);

/** A notice that says whether the open re-certification can be closed, and if not, why. Approvers also get the button and its dialog. */
function RecertificationNotice({ incident }: { incident: Incident }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const isApprover = useHasRole('approver');
  // The digest of what the page showed when the dialog was opened. The page behind the dialog can be updated meanwhile.
  const [seen, setSeen] = useState<string>();
  const { closing, agent } = incident;
  const otherCount = (closing?.incident_ids.length ?? 1) - 1;
  const closeRecertifications = async (rationale: string) => {
    const params = { workspace: workspace.id, agent: agent.id };
    await call('recertifications.close', { params, body: { rationale, seen: seen ?? '' } });
    toast.done(
      otherCount > 0
        ? 'Re-certifications closed. They no longer block the agent.'
        : 'Re-certification closed. It no longer blocks the agent.',
    );
    await queries.invalidateQueries();
  };
  // The dialog is outside the notice, so it stays open and shows the error if someone else closes the re-certification meanwhile.
  return (
    <>
      {closing !== null && (
        <Notice kind="warning" title="Open re-certification: this agent cannot be promoted">
          <p>
            {closing.possible
              ? `${visibleSpaces(agent.name)} has passed an evaluation since the incident. The re-certification can be closed.`
              : asSentence(closing.obstacle ?? '')}
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
              <ExactTime at={closing.evaluation.recorded_at} />
            </span>
          )}
          {isApprover && (
            <Button
              variant="default"
              disabled={!closing.possible || closing.seen === null}
              onClick={() => setSeen(closing.seen ?? undefined)}
            >
              Close re-certification
            </Button>
          )}
        </Notice>
      )}
      <RationaleDialog
        opened={seen !== undefined}
        onClose={() => setSeen(undefined)}
        title={`Close re-certification of ${visibleSpaces(agent.name)}`}
        submit="Close re-certification"
        action={closeRecertifications}
      >
        <p className="soft">
          The latest evaluation must be passing, with a pass rate. It must have been run and recorded after{' '}
          {otherCount > 0 ? 'every incident of this agent whose re-certification is open' : 'the incident'}.
          {otherCount > 0 &&
            ` This also closes the re-certifications of ${otherCount} other ${otherCount === 1 ? 'incident' : 'incidents'} of this agent.`}
        </p>
      </RationaleDialog>
    </>
  );
}
