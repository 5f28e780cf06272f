import type { SpanNode } from './span-tree.ts';

/** The effect of a key in the tree. */
export interface TreeMove {
  /** The index of the visible step that becomes selected. */
  to: number;
  /** The step that is collapsed (`isCollapsed`) or expanded. */
  toggle?: { id: string; isCollapsed: boolean };
}

/**
 * Returns the effect of a key (WAI-ARIA Authoring Practices, "Tree View"); undefined if the key has none.
 * @param visibleSteps the visible steps.
 * @param index the index of the selected step in `visibleSteps`.
 * @param collapsedIds the IDs of the collapsed steps.
 */
export function treeMove(
  key: string,
  visibleSteps: readonly SpanNode[],
  index: number,
  collapsedIds: ReadonlySet<string>,
): TreeMove | undefined {
  const node = visibleSteps[index];
  if (node === undefined) return undefined;
  const { span_id: id } = node.span;
  switch (key) {
    case 'ArrowDown':
      return { to: Math.min(index + 1, visibleSteps.length - 1) };
    case 'ArrowUp':
      return { to: Math.max(index - 1, 0) };
    case 'PageDown':
      return { to: Math.min(index + 12, visibleSteps.length - 1) };
    case 'PageUp':
      return { to: Math.max(index - 12, 0) };
    case 'Home':
      return { to: 0 };
    case 'End':
      return { to: visibleSteps.length - 1 };
    case 'ArrowRight':
      if (!node.hasChildren) return { to: index };
      return collapsedIds.has(id) ? { to: index, toggle: { id, isCollapsed: false } } : { to: index + 1 };
    case 'ArrowLeft':
      if (node.hasChildren && !collapsedIds.has(id)) return { to: index, toggle: { id, isCollapsed: true } };
      return { to: parentOf(visibleSteps, index) };
    default:
      return undefined;
  }
}

/** The index of the parent of a visible step; the index of the step itself at the top level. */
function parentOf(visibleSteps: readonly SpanNode[], index: number): number {
  const depth = visibleSteps[index]?.depth ?? 0;
  for (let above = index - 1; above >= 0; above -= 1) if ((visibleSteps[above]?.depth ?? 0) < depth) return above;
  return index;
}
