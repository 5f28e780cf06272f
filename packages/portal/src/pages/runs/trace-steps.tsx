import { Button } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { formatCount } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { SpanPanel } from './span-panel.tsx';
import { findNextFailed, hasFailed, type Span, spanTree } from './span-tree.ts';
import { SpanTreeView } from './span-tree-view.tsx';
import styles from './trace-page.module.css';

/** At least this many steps are loaded at once, or all if the trace has fewer. The button below the tree loads more. */
const STEPS_LOADED_MIN = 5000;

/** Loaded steps, and the cursor of the next page; null at the end of the trace. */
interface LoadedSteps {
  spans: Span[];
  next: string | null;
}

/** Loads pages of steps until there are at least STEPS_LOADED_MIN, or the trace ends. An empty page is not always the last one. */
async function loadSteps(workspace: string, trace: string, start: string | null, signal: AbortSignal): Promise<LoadedSteps> {
  const spans: Span[] = [];
  let next = start;
  do {
    const page: ResponseBody<'runs.spans'> = await call('runs.spans', {
      params: { workspace, trace },
      query: { cursor: next ?? undefined },
      signal,
    });
    spans.push(...page.items);
    next = page.next;
  } while (next !== null && spans.length < STEPS_LOADED_MIN);
  return { spans, next };
}

/** The tree of steps and the selected step. A long run shows its first steps and loads more on demand. */
export function TraceSteps({ trace }: { trace: ResponseBody<'runs.trace'> }) {
  const { workspace } = useWorkspace();
  const { step } = useSearch({ strict: false }) as { step?: string };
  const navigate = useNavigate();
  const steps = useInfiniteQuery({
    queryKey: ['spans', workspace.id, trace.id, trace.submission_count],
    queryFn: ({ pageParam, signal }) => loadSteps(workspace.id, trace.id, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
  const spans = useMemo(() => steps.data?.pages.flatMap((page) => page.spans), [steps.data]);
  const nodes = useMemo(() => spanTree(spans ?? []), [spans]);
  if (spans === undefined) {
    if (steps.isError) return <ProblemNotice problem={steps.error} retry={() => void steps.refetch()} />;
    return <BlockSkeleton heightPx={420} />;
  }
  if (spans.length === 0) {
    return (
      <Panel title="Steps">
        <p className="soft">This trace has no steps.</p>
      </Panel>
    );
  }
  const selected =
    spans.find(({ span_id }) => span_id === step) ?? spans.find(({ parent_span_id }) => parent_span_id === null) ?? spans[0];
  const select = (id: string) => void navigate({ to: '.', search: { step: id } as never, replace: true, resetScroll: false });
  // Until all steps are loaded, the number of failed steps is unknown, so it is not shown.
  const failedCount = steps.hasNextPage ? 0 : spans.filter(hasFailed).length;
  const next = findNextFailed(nodes, selected?.span_id);
  const stepCount = steps.hasNextPage ? trace.span_count : spans.length;
  return (
    <div className={styles.steps}>
      <Panel
        title="Steps"
        note={`${formatCount(stepCount)} in total${failedCount === 0 ? '' : `, ${formatCount(failedCount)} failed`}`}
        actions={
          next !== undefined && (
            <Button variant="default" size="xs" disabled={next === selected?.span_id} onClick={() => select(next)}>
              Next failed step
            </Button>
          )
        }
        flush
      >
        <SpanTreeView nodes={nodes} spans={spans} selectedId={selected?.span_id} onSelect={select} />
        {steps.hasNextPage && (
          <div className={styles.more}>
            <span className="soft">Showing the first {formatCount(spans.length)} steps.</span>
            <Button variant="default" size="xs" loading={steps.isFetchingNextPage} onClick={() => void steps.fetchNextPage()}>
              Load more steps
            </Button>
          </div>
        )}
        {steps.isError && <ProblemNotice problem={steps.error} retry={() => void steps.fetchNextPage()} />}
      </Panel>
      {selected !== undefined && <SpanPanel key={selected.span_id} trace={trace.id} span={selected} />}
    </div>
  );
}
