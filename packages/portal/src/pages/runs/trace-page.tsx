import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { call } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { DetailPage } from '../../components/detail-page.tsx';
import { DifferingRows } from '../../components/differing-rows.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { ExactTime } from '../../components/relative-time.tsx';
import { OutcomeBadge } from '../../components/status-badges.tsx';
import { Findings } from './findings.tsx';
import { RunSummary } from './run-summary.tsx';
import { TraceOrigins } from './trace-origins.tsx';
import styles from './trace-page.module.css';
import { TraceSteps } from './trace-steps.tsx';

/** The polling interval until the run has an outcome. */
const ARRIVING_REFRESH_MS = 5_000;

/** The page of one trace, with the tree of its steps and the content of the selected step. */
export function TracePage() {
  const { trace: id } = useParams({ strict: false }) as { trace: string };
  const { workspace } = useWorkspace();
  const trace = useQuery({
    queryKey: ['trace', workspace.id, id],
    queryFn: ({ signal }) => call('runs.trace', { params: { workspace: workspace.id, trace: id }, signal }),
    refetchInterval: ({ state }) => (state.data?.outcome === null ? ARRIVING_REFRESH_MS : false),
  });
  return (
    <DetailPage title="Run" list={{ to: '/w/$workspace/runs', label: 'Runs' }} query={trace} skeletonHeightPx={360}>
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
                  Received <ExactTime at={data.received_at} />
                </span>
                <CopyButton text={data.trace_id} what="run ID" label="Copy run ID" />
              </span>
            }
          />
          <div className="stack">
            <DifferingRows rows={data.differing_rows} />
            {data.error !== null && (
              <Notice kind="problem" title="The run reported an error">
                <pre className={styles.error}>{data.error}</pre>
              </Notice>
            )}
            <UnfinishedNotice outcome={data.outcome} />
            <RunSummary run={data} />
            <Findings findings={data.findings} />
            <TraceSteps trace={data} />
            <TraceOrigins trace={data} />
          </div>
        </>
      )}
    </DetailPage>
  );
}

/** A notice on a run whose root span has not arrived. */
function UnfinishedNotice({ outcome }: { outcome: string | null }) {
  if (outcome === null) {
    return (
      <Notice kind="quiet">
        <p>The root span has not arrived yet. This page refreshes until the run has an outcome.</p>
      </Notice>
    );
  }
  if (outcome !== 'incomplete') return null;
  return (
    <Notice kind="quiet">
      <p>The root span did not arrive within 15 minutes of the last span. It is unknown how this run ended.</p>
    </Notice>
  );
}
