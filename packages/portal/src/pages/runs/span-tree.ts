import type { SpanRow } from '@countersign/core/portal/run-routes';

/** A step as the API lists it. */
export type Span = SpanRow;

/** A step in the order of the tree. */
export interface SpanNode {
  span: Span;
  depth: number;
  /** The number of steps below it at any depth. */
  below: number;
  hasChildren: boolean;
  /** Position among its siblings from 1, and their number, for screen readers. */
  position: number;
  siblings: number;
}

/** The time range of a run, from its steps. */
export interface TimeFrame {
  start: number;
  end: number;
}

/**
 * The steps as a tree, depth first. Children are sorted by start time; those with the same or an unknown time, by arrival. Steps with an
 * unknown parent are at the top level. Of the steps in or below a cycle of parents, the first that arrived is at the top level too. So no
 * step is hidden.
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
  for (const [parent, siblings] of children) children.set(parent, inOrderOfStart(siblings));
  const nodes: SpanNode[] = [];
  const visited = new Set<string>();
  const walk = (siblings: readonly Span[], depth: number): number => {
    let total = 0;
    for (const [index, span] of siblings.entries()) {
      if (visited.has(span.span_id)) continue;
      visited.add(span.span_id);
      const childSpans = children.get(span.span_id) ?? [];
      const node = { span, depth, below: 0, hasChildren: childSpans.length > 0, position: index + 1, siblings: siblings.length };
      nodes.push(node);
      node.below = walk(childSpans, depth + 1);
      total += 1 + node.below;
    }
    return total;
  };
  walk(children.get(null) ?? [], 0);
  // The remaining steps are in or below cycles of parents.
  for (const span of spans) if (!visited.has(span.span_id)) walk([span], 0);
  return nodes;
}

/** The visible steps when some are collapsed. */
export function visibleNodes(nodes: readonly SpanNode[], folded: ReadonlySet<string>): SpanNode[] {
  const shown: SpanNode[] = [];
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at] as SpanNode;
    shown.push(node);
    if (folded.has(node.span.span_id)) at += node.below;
  }
  return shown;
}

/** Start and end of a step in milliseconds; undefined if the sender reported neither the start nor both end and duration. */
export function timesOf({ started_at, ended_at, latency_ms }: Span): TimeFrame | undefined {
  const start = started_at === null ? undefined : Date.parse(started_at);
  const end = ended_at === null ? undefined : Date.parse(ended_at);
  if (start !== undefined) return { start, end: end ?? start + (latency_ms ?? 0) };
  if (end !== undefined && latency_ms !== null) return { start: end - latency_ms, end };
  return undefined;
}

/** From the earliest start to the latest end; undefined if no step has times. */
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

/** Steps by their start. A step without times keeps its place after the step that arrived before it. */
function inOrderOfStart(steps: readonly Span[]): Span[] {
  let latest = Number.NEGATIVE_INFINITY;
  const placed = [...steps]
    .sort((left, right) => left.position - right.position)
    .map((step) => {
      const start = timesOf(step)?.start ?? latest;
      latest = start;
      return { step, start };
    });
  // The sort is stable, so steps with the same start stay in the order of their arrival.
  return placed.sort((left, right) => left.start - right.start || 0).map(({ step }) => step);
}
