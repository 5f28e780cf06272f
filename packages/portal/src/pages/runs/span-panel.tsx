import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Badge } from '../../components/badge.tsx';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatCount, formatDollars, formatDuration } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { formatExactTime } from '../../components/time-format.ts';
import { PayloadView } from './payload-view.tsx';
import { SpanKind } from './span-kind.tsx';
import type { Span } from './span-tree.ts';
import styles from './trace-page.module.css';

/** A panel with the selected step: status, error, usage and content. */
export function SpanPanel({ trace, span }: { trace: string; span: Span }) {
  const { workspace } = useWorkspace();
  const payload = useQuery({
    queryKey: ['span', workspace.id, trace, span.span_id],
    queryFn: ({ signal }) =>
      call('runs.span', { params: { workspace: workspace.id, trace }, query: { span_id: span.span_id }, signal }),
    enabled: span.has_payload,
    staleTime: 60_000,
  });
  return (
    <Panel
      title={<span className="break">{span.name}</span>}
      note={<SpanKind kind={span.kind} withLabel />}
      actions={<StatusBadge status={span.status} />}
    >
      <div className="stack">
        {span.error !== null && (
          <Notice kind="problem" title="Error">
            {/* The list of steps has only the first 2,000 characters of an error. The payload has the complete error. */}
            <pre className={styles.error}>{String(payload.data?.payload.error ?? span.error)}</pre>
          </Notice>
        )}
        <PropertyList
          facts={[
            ['Duration', formatDuration(span.latency_ms)],
            span.prompt_tokens === null && span.completion_tokens === null
              ? ['Tokens', formatCount(span.total_tokens)]
              : ['Tokens in / out', `${formatCount(span.prompt_tokens)} / ${formatCount(span.completion_tokens)}`],
            ['Cost', formatDollars(span.cost_usd)],
            ['Model', span.model === null ? undefined : span.model],
            ['Provider', span.provider === null ? undefined : span.provider],
            ['Started', span.started_at === null ? undefined : formatExactTime(span.started_at)],
            ['ID', <code key="id">{span.span_id}</code>],
          ]}
        />
        {!span.has_payload ? (
          <p className="faint">This step has no content.</p>
        ) : payload.isError ? (
          <ProblemNotice problem={payload.error} retry={() => void payload.refetch()} />
        ) : payload.data === undefined ? (
          <BlockSkeleton heightPx={140} />
        ) : (
          <PayloadView payload={payload.data.payload} />
        )}
      </div>
    </Panel>
  );
}

const StatusBadge = ({ status }: { status: string }) => (
  <Badge tone={status === 'success' || status === 'ok' ? 'good' : status === 'failure' || status === 'error' ? 'bad' : 'quiet'}>
    {status}
  </Badge>
);
