import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type Answer, call } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { Notice } from '../../pieces/notice.tsx';
import { PageHeader } from '../../pieces/page-header.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { ProblemNotice } from '../../pieces/problem-notice.tsx';
import { Outcome } from '../../pieces/states.tsx';
import { When } from '../../pieces/when.tsx';
import { SpanPanel } from './span-panel.tsx';
import type { Span } from './span-tree.ts';
import { SpanTreeView } from './span-tree-view.tsx';
import { TraceFacts } from './trace-facts.tsx';
import { TraceOrigins } from './trace-origins.tsx';
import styles from './trace-page.module.css';

/** One run with its steps: the tree and its time line, and what the chosen step said. */
export function TracePage() {
  const { trace: id } = useParams({ strict: false }) as { trace: string };
  const { workspace } = useHere();
  const trace = useQuery({
    queryKey: ['trace', workspace.id, id],
    queryFn: ({ signal }) => call('runs.trace', { params: { workspace: workspace.id, trace: id }, signal }),
  });
  const crumb = (
    <Link to="/w/$workspace/runs" params={{ workspace: workspace.id }}>
      Runs
    </Link>
  );
  if (trace.data === undefined) {
    return (
      <>
        <PageHeader title="Run" crumb={crumb} />
        {trace.isError ? (
          <ProblemNotice problem={trace.error} retry={() => void trace.refetch()} />
        ) : (
          <BlockSkeleton height={360} />
        )}
      </>
    );
  }
  const { data } = trace;
  return (
    <>
      <PageHeader
        title={data.trace_id}
        shown={<span className={styles.title}>{data.trace_id}</span>}
        crumb={crumb}
        lead={
          <span className="row">
            <Outcome outcome={data.outcome} />
            <span>
              received <When at={data.received_at} />
            </span>
          </span>
        }
      />
      <div className="stack">
        {data.error !== null && (
          <Notice kind="problem" title="The run reported an error">
            <pre className={styles.error}>{data.error}</pre>
          </Notice>
        )}
        <TraceFacts trace={data} />
        <Steps trace={data} />
        <TraceOrigins trace={data} />
      </div>
    </>
  );
}

/** All steps, however many pages they come in. */
async function allSpans(workspace: string, trace: string, signal: AbortSignal): Promise<Span[]> {
  const spans: Span[] = [];
  let cursor: string | undefined;
  do {
    const page: Answer<'runs.spans'> = await call('runs.spans', { params: { workspace, trace }, query: { cursor }, signal });
    spans.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  return spans;
}

function Steps({ trace }: { trace: Answer<'runs.trace'> }) {
  const { workspace } = useHere();
  const { step } = useSearch({ strict: false }) as { step?: string };
  const navigate = useNavigate();
  const spans = useQuery({
    queryKey: ['spans', workspace.id, trace.id],
    queryFn: ({ signal }) => allSpans(workspace.id, trace.id, signal),
    placeholderData: keepPreviousData,
  });
  if (spans.isError) return <ProblemNotice problem={spans.error} retry={() => void spans.refetch()} />;
  if (spans.data === undefined) return <BlockSkeleton height={420} />;
  if (spans.data.length === 0) {
    return (
      <Panel title="Steps">
        <p className="soft">This run was sent without steps: its trace has no spans.</p>
      </Panel>
    );
  }
  const chosen =
    spans.data.find(({ span_id }) => span_id === step) ??
    spans.data.find(({ parent_span_id }) => parent_span_id === null) ??
    spans.data[0];
  const choose = (id: string) => void navigate({ to: '.', search: { step: id } as never, replace: true, resetScroll: false });
  return (
    <div className={styles.steps}>
      <Panel title="Steps" note={`${spans.data.length} in all`} flush>
        <SpanTreeView spans={spans.data} selected={chosen?.span_id} onSelect={choose} />
      </Panel>
      {chosen !== undefined && <SpanPanel key={chosen.span_id} trace={trace.id} span={chosen} />}
    </div>
  );
}
