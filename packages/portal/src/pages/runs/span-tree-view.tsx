import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { formatCountOf, formatDuration } from '../../components/number-format.ts';
import { SpanRow } from './span-row.tsx';
import { ancestorsOf, type Span, type SpanNode, timeFrameOf, visibleNodes } from './span-tree.ts';
import styles from './span-tree-view.module.css';
import { treeMove } from './tree-keys.ts';

const ROW_PX = 32;

/**
 * The steps of a run as a tree with a timeline. Only rows in or near the visible part are rendered, so that long runs scroll
 * smoothly. The tree is one tab stop. The arrow keys move the selection, and collapse or expand steps.
 */
export function SpanTreeView({
  nodes,
  spans,
  selectedId,
  onSelect,
}: {
  nodes: readonly SpanNode[];
  spans: readonly Span[];
  selectedId: string | undefined;
  onSelect: (id: string) => void;
}) {
  const frame = useMemo(() => timeFrameOf(spans), [spans]);
  const [collapsedIds, setCollapsedIds] = useState<ReadonlySet<string>>(new Set());
  const visibleSteps = useMemo(() => visibleNodes(nodes, collapsedIds), [nodes, collapsedIds]);
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: visibleSteps.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const selectedIndex = visibleSteps.findIndex(({ span }) => span.span_id === selectedId);
  useEffect(() => {
    if (selectedIndex >= 0) rows.scrollToIndex(selectedIndex, { align: 'auto' });
  }, [selectedIndex, rows]);
  // A step that was selected outside the tree can be below a collapsed step.
  // biome-ignore lint/correctness/useExhaustiveDependencies: newly loaded steps must not expand a step that the person collapsed.
  useEffect(() => {
    const above = new Set(ancestorsOf(nodes, selectedId));
    setCollapsedIds((current) => new Set([...current].filter((id) => !above.has(id))));
  }, [selectedId]);
  const setStepCollapsed = (id: string, isCollapsed: boolean) => {
    const next = new Set(collapsedIds);
    if (isCollapsed) next.add(id);
    else next.delete(id);
    setCollapsedIds(next);
  };
  const onKey = (event: KeyboardEvent) => {
    const move = treeMove(event.key, visibleSteps, Math.max(selectedIndex, 0), collapsedIds);
    if (move === undefined) return;
    event.preventDefault();
    if (move.toggledStep !== undefined) setStepCollapsed(move.toggledStep.id, move.toggledStep.isCollapsed);
    const target = visibleSteps[move.selectedIndex];
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
              <span>{formatDuration(frame.end - frame.start)}</span>
            </>
          )}
        </span>
        <span className={styles.right}>Duration</span>
      </div>
      <div
        ref={scroll}
        className={styles.scroll}
        style={{ height: `min(64vh, ${visibleSteps.length * ROW_PX + 8}px)` }}
        role="tree"
        aria-label={`${formatCountOf(spans.length, 'step', 'steps')} of the run`}
        tabIndex={0}
        aria-activedescendant={selectedIndex >= 0 ? rowId(selectedIndex) : undefined}
        onKeyDown={onKey}
      >
        <div role="none" style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const node = visibleSteps[index] as SpanNode;
            return (
              <SpanRow
                key={node.span.span_id}
                id={rowId(index)}
                top={start}
                node={node}
                frame={frame}
                isCollapsed={collapsedIds.has(node.span.span_id)}
                isSelected={index === selectedIndex}
                onSelect={onSelect}
                onCollapse={setStepCollapsed}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

const rowId = (index: number): string => `step-${index}`;
