import type { SpanRow } from '@countersign/core/portal/run-routes';

/** A step as the API lists it. */
export type Span = SpanRow;

/** A step with its position in the tree. */
export interface SpanNode {
  span: Span;
  depth: number;
  /** The number of steps below this step, at any depth. */
  descendantCount: number;
  hasChildren: boolean;
  /** The step's position among its siblings, from 1, and the number of siblings including the step itself. For screen readers. */
  position: number;
  siblingCount: number;
}

/** Whether a step reported an error or failed. */
export const hasFailed = ({ error, status }: Span): boolean => error !== null || status === 'failure' || status === 'error';

/** The time range of a step or of a run, in milliseconds since 1970. */
export interface TimeFrame {
  start: number;
  end: number;
}

/**
 * Returns all steps, depth first. Siblings are sorted by start, and by arrival if the start is the same. A step is at the top level if it
 * has no parent, or if its parent is unknown or is the step itself. The steps in or below a longer cycle of parents come last. In the order
 * of arrival, each of these steps that is not yet in the tree is added at the top level, with its subtree.
 */
export function spanTree(spans: readonly Span[]): SpanNode[] {
  const spanIds = new Set(spans.map(({ span_id }) => span_id));
  const children = new Map<string | null, Span[]>();
  for (const span of spans) {
    const parent =
      span.parent_span_id !== null && spanIds.has(span.parent_span_id) && span.parent_span_id !== span.span_id
        ? span.parent_span_id
        : null;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [span]);
    else siblings.push(span);
  }
  for (const [parent, siblings] of children) children.set(parent, sortByStart(siblings));
  const nodes: SpanNode[] = [];
  const visited = new Set<string>();
  /** Marks a step as visited. Returns whether it was not visited before. */
  const visit = ({ span_id }: Span): boolean => {
    const isNew = !visited.has(span_id);
    visited.add(span_id);
    return isNew;
  };
  const walk = (steps: readonly Span[], depth: number): number => {
    const siblings = steps.filter(visit);
    let total = 0;
    for (const [index, span] of siblings.entries()) {
      const node = { span, depth, descendantCount: 0, hasChildren: false, position: index + 1, siblingCount: siblings.length };
      nodes.push(node);
      node.descendantCount = walk(children.get(span.span_id) ?? [], depth + 1);
      node.hasChildren = node.descendantCount > 0;
      total += 1 + node.descendantCount;
    }
    return total;
  };
  walk(children.get(null) ?? [], 0);
  // The remaining steps are in or below a cycle of parents.
  for (const span of spans) walk([span], 0);
  const topLevel = nodes.filter(({ depth }) => depth === 0);
  for (const [index, node] of topLevel.entries()) {
    node.position = index + 1;
    node.siblingCount = topLevel.length;
  }
  return nodes;
}

/** The steps that are not below a collapsed step. */
export function visibleNodes(nodes: readonly SpanNode[], collapsedIds: ReadonlySet<string>): SpanNode[] {
  const visibleSteps: SpanNode[] = [];
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at] as SpanNode;
    visibleSteps.push(node);
    if (collapsedIds.has(node.span.span_id)) at += node.descendantCount;
  }
  return visibleSteps;
}

/** The IDs of the steps above a step, from the top level. Empty if the step is unknown. */
export function ancestorsOf(nodes: readonly SpanNode[], id: string | undefined): string[] {
  const at = nodes.findIndex(({ span }) => span.span_id === id);
  return nodes
    .slice(0, Math.max(at, 0))
    .flatMap(({ span, descendantCount }, index) => (index + descendantCount >= at ? [span.span_id] : []));
}

/**
 * Returns the ID of the next failed step after the selected step, in the order of the tree. After the last step, the search continues at
 * the first step and ends with the selected step. Undefined if no step has failed.
 */
export function findNextFailed(nodes: readonly SpanNode[], selectedId: string | undefined): string | undefined {
  const at = nodes.findIndex(({ span }) => span.span_id === selectedId);
  const following = [...nodes.slice(at + 1), ...nodes.slice(0, at + 1)];
  return following.find(({ span }) => hasFailed(span))?.span.span_id;
}

/**
 * The start and end of a step. A missing end is the start plus the duration, which counts as 0 if it is missing too. A missing start is the
 * end minus the duration. Undefined if there is neither a start nor an end with a duration.
 */
export function timesOf({ started_at, ended_at, latency_ms }: Span): TimeFrame | undefined {
  const start = started_at === null ? undefined : Date.parse(started_at);
  const end = ended_at === null ? undefined : Date.parse(ended_at);
  if (start !== undefined) return { start, end: end ?? start + (latency_ms ?? 0) };
  if (end !== undefined && latency_ms !== null) return { start: end - latency_ms, end };
  return undefined;
}

/** The time range from the earliest start to the latest end of the steps; undefined if no step has times. */
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

/** Sorts siblings by their start. A step without times gets the start of the sibling that arrived before it, or else comes first. */
function sortByStart(steps: readonly Span[]): Span[] {
  let latest = Number.NEGATIVE_INFINITY;
  const stepsWithStart = [...steps]
    .sort((left, right) => left.position - right.position)
    .map((step) => {
      const start = timesOf(step)?.start ?? latest;
      latest = start;
      return { step, start };
    });
  // The sort is stable, so steps with the same start stay in the order of their arrival.
  return stepsWithStart.sort((left, right) => left.start - right.start || 0).map(({ step }) => step);
}
