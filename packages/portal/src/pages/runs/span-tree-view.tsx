import { IconChevronRight } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { duration } from '../../pieces/figures.ts';
import { SpanKind } from './span-kind.tsx';
import { type Span, type SpanNode, spanTree, type TimeFrame, timeFrameOf, timesOf, unfolded } from './span-tree.ts';
import styles from './span-tree-view.module.css';

const ROW_PX = 32;

/**
 * The steps of a run as a tree beside their time line. Only the rows that can be seen are in the page, so that a run of many
 * hundred steps scrolls as one of ten. One stop for the keyboard: arrows move, fold and unfold, as in any tree.
 */
export function SpanTreeView({
  spans,
  selected,
  onSelect,
}: {
  spans: readonly Span[];
  selected: string | undefined;
  onSelect: (id: string) => void;
}) {
  const nodes = useMemo(() => spanTree(spans), [spans]);
  const frame = useMemo(() => timeFrameOf(spans), [spans]);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => unfolded(nodes, folded), [nodes, folded]);
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const at = shown.findIndex(({ span }) => span.span_id === selected);
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at, { align: 'auto' });
  }, [at, rows]);
  const fold = (id: string, folding: boolean) => {
    const next = new Set(folded);
    if (folding) next.add(id);
    else next.delete(id);
    setFolded(next);
  };
  const onKey = (event: KeyboardEvent) => {
    const move = keyMove(event.key, shown, Math.max(at, 0), folded);
    if (move === undefined) return;
    event.preventDefault();
    if (move.fold !== undefined) fold(move.fold.id, move.fold.folding);
    const target = shown[move.to];
    if (target !== undefined) onSelect(target.span.span_id);
  };
  return (
    <div className={styles.view} data-timeless={frame === undefined || undefined}>
      <div className={styles.ruler} aria-hidden="true">
        <span>Step</span>
        <span className={styles.scale}>
          {frame !== undefined && (
            <>
              <span>0</span>
              <span>{duration(frame.end - frame.start)}</span>
            </>
          )}
        </span>
        <span className={styles.right}>Duration</span>
      </div>
      <div
        ref={scroll}
        className={styles.scroll}
        style={{ height: `min(64vh, ${shown.length * ROW_PX + 8}px)` }}
        role="tree"
        aria-label={`Steps of the run, ${spans.length}`}
        tabIndex={0}
        aria-activedescendant={at >= 0 ? rowId(at) : undefined}
        onKeyDown={onKey}
      >
        <div role="none" style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const node = shown[index] as SpanNode;
            return (
              <Row
                key={node.span.span_id}
                id={rowId(index)}
                top={start}
                node={node}
                frame={frame}
                folded={folded.has(node.span.span_id)}
                selected={index === at}
                onSelect={onSelect}
                onFold={fold}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

const rowId = (index: number): string => `step-${index}`;

function Row(props: {
  id: string;
  top: number;
  node: SpanNode;
  frame: TimeFrame | undefined;
  folded: boolean;
  selected: boolean;
  onSelect: (id: string) => void;
  onFold: (id: string, folding: boolean) => void;
}) {
  const { id, top, node, frame, folded, selected, onSelect, onFold } = props;
  const { span, depth, hasChildren, below } = node;
  const failed = span.error !== null || span.status === 'failure' || span.status === 'error';
  return (
    // The tree's own keys are on the tree (aria-activedescendant): a row takes the pointer alone.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above.
    // biome-ignore lint/a11y/useFocusableInteractive: see above.
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-posinset={node.position}
      aria-setsize={node.siblings}
      aria-selected={selected}
      aria-expanded={hasChildren ? !folded : undefined}
      className={styles.row}
      style={{ transform: `translateY(${top}px)` }}
      data-failed={failed || undefined}
      onClick={() => onSelect(span.span_id)}
    >
      <span className={styles.name} style={{ paddingLeft: Math.min(depth, 14) * 16 }}>
        {hasChildren ? (
          // biome-ignore lint/a11y/noStaticElementInteractions: folding by keyboard is the arrow keys of the tree.
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above.
          <span
            className={styles.caret}
            data-open={!folded || undefined}
            onClick={(event) => {
              event.stopPropagation();
              onFold(span.span_id, !folded);
            }}
          >
            <IconChevronRight size={14} aria-hidden />
          </span>
        ) : (
          <span className={styles.caret} />
        )}
        <SpanKind kind={span.kind} />
        <span className={styles.label}>
          {span.name}
          {span.model !== null && <small> {span.model}</small>}
          {failed && <span className="visually-hidden">, failed</span>}
        </span>
        {folded && <small className={styles.below}>+{below}</small>}
      </span>
      <Bar span={span} frame={frame} failed={failed} />
      <span className={styles.right}>{duration(span.latency_ms)}</span>
    </div>
  );
}

function Bar({ span, frame, failed }: { span: Span; frame: TimeFrame | undefined; failed: boolean }) {
  const times = timesOf(span);
  if (frame === undefined || times === undefined || frame.end <= frame.start) return <span className={styles.track} />;
  const whole = frame.end - frame.start;
  const left = ((times.start - frame.start) / whole) * 100;
  const width = Math.max(((times.end - times.start) / whole) * 100, 0.6);
  return (
    <span className={styles.track}>
      <span
        className={styles.bar}
        data-kind={failed ? 'failed' : span.kind}
        style={{ left: `${Math.min(left, 99.4)}%`, width: `${Math.min(width, 100 - left)}%` }}
      />
    </span>
  );
}

interface Move {
  to: number;
  fold?: { id: string; folding: boolean };
}

/** What a key does in the tree (WAI-ARIA Authoring Practices, "Tree View"). */
function keyMove(key: string, shown: readonly SpanNode[], at: number, folded: ReadonlySet<string>): Move | undefined {
  const node = shown[at];
  if (node === undefined) return undefined;
  const { span_id: id } = node.span;
  switch (key) {
    case 'ArrowDown':
      return { to: Math.min(at + 1, shown.length - 1) };
    case 'ArrowUp':
      return { to: Math.max(at - 1, 0) };
    case 'PageDown':
      return { to: Math.min(at + 12, shown.length - 1) };
    case 'PageUp':
      return { to: Math.max(at - 12, 0) };
    case 'Home':
      return { to: 0 };
    case 'End':
      return { to: shown.length - 1 };
    case 'ArrowRight':
      if (!node.hasChildren) return { to: at };
      return folded.has(id) ? { to: at, fold: { id, folding: false } } : { to: at + 1 };
    case 'ArrowLeft':
      if (node.hasChildren && !folded.has(id)) return { to: at, fold: { id, folding: true } };
      return { to: parentOf(shown, at) };
    default:
      return undefined;
  }
}

function parentOf(shown: readonly SpanNode[], at: number): number {
  const depth = shown[at]?.depth ?? 0;
  for (let above = at - 1; above >= 0; above -= 1) if ((shown[above]?.depth ?? 0) < depth) return above;
  return at;
}
