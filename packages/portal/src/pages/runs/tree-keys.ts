import type { SpanNode } from './span-tree.ts';

/** The number of steps that Page Up and Page Down move. */
const PAGE_STEPS = 12;

/** The effect of a key in the tree. */
export interface TreeMove {
  /** The index of the visible step that becomes selected. */
  selectedIndex: number;
  /** The step that is collapsed (`isCollapsed`) or expanded. */
  toggledStep?: { id: string; isCollapsed: boolean };
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
      return { selectedIndex: Math.min(index + 1, visibleSteps.length - 1) };
    case 'ArrowUp':
      return { selectedIndex: Math.max(index - 1, 0) };
    case 'PageDown':
      return { selectedIndex: Math.min(index + PAGE_STEPS, visibleSteps.length - 1) };
    case 'PageUp':
      return { selectedIndex: Math.max(index - PAGE_STEPS, 0) };
    case 'Home':
      return { selectedIndex: 0 };
    case 'End':
      return { selectedIndex: visibleSteps.length - 1 };
    case 'ArrowRight':
      if (!node.hasChildren) return { selectedIndex: index };
      return collapsedIds.has(id)
        ? { selectedIndex: index, toggledStep: { id, isCollapsed: false } }
        : { selectedIndex: index + 1 };
    case 'ArrowLeft':
      if (node.hasChildren && !collapsedIds.has(id)) return { selectedIndex: index, toggledStep: { id, isCollapsed: true } };
      return { selectedIndex: parentOf(visibleSteps, index) };
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
