import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { Badge } from '../../pieces/badge.tsx';
import { Facts } from '../../pieces/facts.tsx';
import { count, dollars, duration } from '../../pieces/figures.ts';
import { Notice } from '../../pieces/notice.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { ProblemNotice } from '../../pieces/problem-notice.tsx';
import { exactTime } from '../../pieces/times.ts';
import { PayloadView } from './payload-view.tsx';
import { SpanKind } from './span-kind.tsx';
import type { Span } from './span-tree.ts';
import styles from './trace-page.module.css';

/** What the chosen step was and said: figures, error, conversation, arguments and results. */
export function SpanPanel({ trace, span }: { trace: string; span: Span }) {
  const { workspace } = useHere();
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
      note={<SpanKind kind={span.kind} worded />}
      actions={<StatusBadge status={span.status} />}
    >
      <div className="stack">
        {span.error !== null && (
          <Notice kind="problem" title="Error">
            <pre className={styles.error}>{span.error}</pre>
          </Notice>
        )}
        <Facts
          facts={[
            ['Duration', duration(span.latency_ms)],
            [
              'Tokens in / out',
              span.prompt_tokens === null && span.completion_tokens === null
                ? count(span.total_tokens)
                : `${count(span.prompt_tokens)} / ${count(span.completion_tokens)}`,
            ],
            ['Cost', dollars(span.cost_usd)],
            ['Model', span.model === null ? undefined : span.model],
            ['Provider', span.provider === null ? undefined : span.provider],
            ['Began', span.started_at === null ? undefined : exactTime(span.started_at)],
            ['Id', <code key="id">{span.span_id}</code>],
          ]}
        />
        {!span.has_payload ? (
          <p className="faint">Nothing more was sent for this step.</p>
        ) : payload.isError ? (
          <ProblemNotice problem={payload.error} retry={() => void payload.refetch()} />
        ) : payload.data === undefined ? (
          <BlockSkeleton height={140} />
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
