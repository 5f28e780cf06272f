import type { ListItem } from '../../api/call.ts';

export type Span = ListItem<'runs.spans'>;

/** A step in the order in which the tree shows it. */
export interface SpanNode {
  span: Span;
  depth: number;
  /** Steps below it, at any depth. */
  below: number;
  hasChildren: boolean;
  /** Place among its siblings, from 1, and how many there are: what screen readers say. */
  position: number;
  siblings: number;
}

/** The whole while that a run took, as far as its steps say. */
export interface TimeFrame {
  start: number;
  end: number;
}

/**
 * The steps as a tree, depth first. Children stand in the order in which they began, else in which they came. A step whose parent
 * is not there, and steps that are each other's parents, stand at the top: nothing that was sent is hidden.
 */
export function spanTree(spans: readonly Span[]): SpanNode[] {
  const known = new Set(spans.map(({ span_id }) => span_id));
  const children = new Map<string | null, Span[]>();
  for (const span of spans) {
    const parent =
      span.parent_span_id !== null && known.has(span.parent_span_id) && span.parent_span_id !== span.span_id
        ? span.parent_span_id
        : null;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [span]);
    else siblings.push(span);
  }
  for (const siblings of children.values()) siblings.sort(byStart);
  const nodes: SpanNode[] = [];
  const seen = new Set<string>();
  const walk = (siblings: readonly Span[], depth: number): number => {
    let total = 0;
    for (const [index, span] of siblings.entries()) {
      if (seen.has(span.span_id)) continue;
      seen.add(span.span_id);
      const own = children.get(span.span_id) ?? [];
      const node = { span, depth, below: 0, hasChildren: own.length > 0, position: index + 1, siblings: siblings.length };
      nodes.push(node);
      node.below = walk(own, depth + 1);
      total += 1 + node.below;
    }
    return total;
  };
  walk(children.get(null) ?? [], 0);
  // What is left stands in a circle of parents.
  for (const span of spans) if (!seen.has(span.span_id)) walk([span], 0);
  return nodes;
}

/** What is shown when some steps are folded. */
export function unfolded(nodes: readonly SpanNode[], folded: ReadonlySet<string>): SpanNode[] {
  const shown: SpanNode[] = [];
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at] as SpanNode;
    shown.push(node);
    if (folded.has(node.span.span_id)) at += node.below;
  }
  return shown;
}

/** When a step began and ended, in milliseconds; undefined when its sender did not say enough. */
export function timesOf({ started_at, ended_at, latency_ms }: Span): TimeFrame | undefined {
  const start = started_at === null ? undefined : Date.parse(started_at);
  const end = ended_at === null ? undefined : Date.parse(ended_at);
  if (start !== undefined) return { start, end: end ?? start + (latency_ms ?? 0) };
  if (end !== undefined && latency_ms !== null) return { start: end - latency_ms, end };
  return undefined;
}

/** From the first beginning to the last end; undefined when no step says when it was. */
export function timeFrameOf(spans: readonly Span[]): TimeFrame | undefined {
  let frame: TimeFrame | undefined;
  for (const span of spans) {
    const times = timesOf(span);
    if (times === undefined) continue;
    frame =
      frame === undefined ? { ...times } : { start: Math.min(frame.start, times.start), end: Math.max(frame.end, times.end) };
  }
  return frame;
}

function byStart(left: Span, right: Span): number {
  const [a, b] = [timesOf(left)?.start, timesOf(right)?.start];
  if (a !== undefined && b !== undefined && a !== b) return a - b;
  return left.position - right.position;
}
