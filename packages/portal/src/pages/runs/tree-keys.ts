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
 * @param shown the visible steps.
 * @param at the index of the selected step in `shown`.
 * @param collapsed the IDs of the collapsed steps.
 */
export function treeMove(
  key: string,
  shown: readonly SpanNode[],
  at: number,
  collapsed: ReadonlySet<string>,
): TreeMove | undefined {
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
      return collapsed.has(id) ? { to: at, toggle: { id, isCollapsed: false } } : { to: at + 1 };
    case 'ArrowLeft':
      if (node.hasChildren && !collapsed.has(id)) return { to: at, toggle: { id, isCollapsed: true } };
      return { to: parentOf(shown, at) };
    default:
      return undefined;
  }
}

/** The index of the parent of a visible step; the index of the step itself at the top level. */
function parentOf(shown: readonly SpanNode[], at: number): number {
  const depth = shown[at]?.depth ?? 0;
  for (let above = at - 1; above >= 0; above -= 1) if ((shown[above]?.depth ?? 0) < depth) return above;
  return at;
}
