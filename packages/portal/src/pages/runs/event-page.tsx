import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call, urlOf } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { DetailPage } from '../../components/detail-page.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatCount } from '../../components/number-format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ExactTime } from '../../components/relative-time.tsx';
import { OutcomeBadge } from '../../components/status-badges.tsx';
import { PayloadView } from './payload-view.tsx';
import { RunSummary } from './run-summary.tsx';
import styles from './trace-page.module.css';

/** The page of one telemetry event, which summarizes a run. An event has no steps, but the run may also have a trace. */
export function EventPage() {
  const { submission, ordinal } = useParams({ strict: false }) as { submission: string; ordinal: string };
  const { workspace } = useWorkspace();
  const params = { workspace: workspace.id, submission, ordinal };
  const event = useQuery({
    queryKey: ['event', workspace.id, submission, ordinal],
    queryFn: ({ signal }) => call('runs.event', { params, signal }),
  });
  return (
    <DetailPage title="Run" list={{ to: '/w/$workspace/runs', label: 'Runs' }} query={event} skeletonHeightPx={280}>
      {(data, crumb) => (
        <>
          <PageHeader
            title={data.trace_id}
            headingContent={<span className={styles.title}>{data.trace_id}</span>}
            crumb={crumb}
            lead={
              <span className="row">
                <OutcomeBadge outcome={data.outcome} />
                <span>
                  Telemetry event, received <ExactTime at={data.received_at} /> from <Actor by={data.recorded_by} />
                </span>
                <CopyButton text={data.trace_id} what="run ID" label="Copy run ID" />
              </span>
            }
          />
          <div className="stack">
            {data.payload.error !== undefined && (
              <Notice kind="problem" title="The run reported an error">
                <pre className={styles.error}>{data.payload.error}</pre>
              </Notice>
            )}
            {data.trace !== null && (
              <Notice kind="quiet">
                <p>
                  This run was also sent as a trace:{' '}
                  <Link to="/w/$workspace/runs/traces/$trace" params={{ workspace: workspace.id, trace: data.trace }}>
                    view its steps
                  </Link>
                  .
                </p>
              </Notice>
            )}
            <RunSummary
              run={data}
              more={[
                ['Status', data.status ?? '–'],
                ['Model', data.model ?? '–'],
                ['Provider', data.provider ?? '–'],
                ['Tool calls', formatCount(data.tool_count)],
              ]}
            />
            <Panel
              title="Content"
              actions={
                <a href={urlOf('runs.event_submission', { params: { workspace: workspace.id, submission } })} download>
                  Original request
                </a>
              }
            >
              {Object.keys(data.payload).length === 0 ? (
                <p className="soft">This event has no content.</p>
              ) : (
                <PayloadView payload={data.payload} />
              )}
            </Panel>
          </div>
        </>
      )}
    </DetailPage>
  );
}
