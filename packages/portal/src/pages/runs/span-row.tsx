import { IconChevronRight } from '@tabler/icons-react';
import type { CSSProperties } from 'react';
import { formatDuration } from '../../components/number-format.ts';
import { SpanKind } from './span-kind.tsx';
import { hasFailed, type Span, type SpanNode, type TimeFrame, timesOf } from './span-tree.ts';
import styles from './span-tree-view.module.css';

/** The depth at which the indentation ends. Deeper steps show their level as a number. */
const INDENTED_LEVELS_MAX = 6;

/** One step in the tree: its name, its bar on the timeline and its duration. */
export function SpanRow(props: {
  id: string;
  top: number;
  node: SpanNode;
  frame: TimeFrame | undefined;
  isCollapsed: boolean;
  isSelected: boolean;
  onSelect: (id: string) => void;
  onCollapse: (id: string, isCollapsed: boolean) => void;
}) {
  const { id, top, node, frame, isCollapsed, isSelected, onSelect, onCollapse } = props;
  const { span, depth, hasChildren, descendantCount } = node;
  const isFailed = hasFailed(span);
  return (
    // The tree handles the keyboard (aria-activedescendant), so a row only handles the pointer.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above.
    // biome-ignore lint/a11y/useFocusableInteractive: see above.
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-posinset={node.position}
      aria-setsize={node.siblingCount}
      aria-selected={isSelected}
      aria-expanded={hasChildren ? !isCollapsed : undefined}
      className={styles.row}
      style={{ transform: `translateY(${top}px)` }}
      data-failed={isFailed || undefined}
      onClick={() => onSelect(span.span_id)}
    >
      <span className={styles.name} style={{ '--indented': Math.min(depth, INDENTED_LEVELS_MAX) } as CSSProperties}>
        {hasChildren ? (
          // biome-ignore lint/a11y/noStaticElementInteractions: the tree handles the keyboard.
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above.
          <span
            className={styles.caret}
            data-open={!isCollapsed || undefined}
            onClick={(event) => {
              event.stopPropagation();
              onCollapse(span.span_id, !isCollapsed);
            }}
          >
            <IconChevronRight size={14} aria-hidden />
          </span>
        ) : (
          <span className={styles.caret} />
        )}
        <SpanKind kind={span.kind} />
        {depth > INDENTED_LEVELS_MAX && (
          <small className={styles.level} data-hint={`Level ${depth + 1}`} aria-hidden="true">
            {depth + 1}
          </small>
        )}
        <span className={styles.label}>
          <span className={styles.text} dir="auto">
            {span.name}
          </span>
          {span.model !== null && <small>{span.model}</small>}
          {isFailed && <span className="visually-hidden">, failed</span>}
        </span>
        {isCollapsed && <small className={styles.below}>+{descendantCount}</small>}
      </span>
      <Bar span={span} frame={frame} isFailed={isFailed} />
      <span className={styles.right}>{formatDuration(span.latency_ms)}</span>
    </div>
  );
}

function Bar({ span, frame, isFailed }: { span: Span; frame: TimeFrame | undefined; isFailed: boolean }) {
  const times = timesOf(span);
  if (frame === undefined || times === undefined || frame.end <= frame.start) return <span className={styles.track} />;
  const totalMs = frame.end - frame.start;
  const left = ((times.start - frame.start) / totalMs) * 100;
  const width = Math.max(((times.end - times.start) / totalMs) * 100, 0.6);
  return (
    <span className={styles.track}>
      <span
        className={styles.bar}
        data-kind={isFailed ? 'failed' : span.kind}
        style={{ left: `${Math.min(left, 99.4)}%`, width: `${Math.min(width, 100 - left)}%` }}
      />
    </span>
  );
}
