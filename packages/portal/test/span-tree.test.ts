import { expect, test } from 'vitest';
import { ancestorsOf, findNextFailed, type Span, spanTree } from '../src/pages/runs/span-tree.ts';

/** A step at the top level that starts `startSeconds` after 1970 began, or that has no time if `startSeconds` is undefined. */
const step = (span_id: string, position: number, startSeconds?: number) =>
  ({
    span_id,
    position,
    parent_span_id: null,
    started_at: startSeconds === undefined ? null : new Date(startSeconds * 1000).toISOString(),
    ended_at: null,
    latency_ms: null,
  }) as Span;

const childOf = (parent: string, span_id: string, position: number): Span => ({
  ...step(span_id, position),
  parent_span_id: parent,
});

const orderOf = (...steps: Span[]) => spanTree(steps).map(({ span }) => span.span_id);

test('steps are sorted by start, and a step without a time stays after the step that arrived before it', () => {
  expect(orderOf(step('late', 1, 10), step('untimed', 2), step('early', 3, 5))).toEqual(['early', 'late', 'untimed']);
  expect(orderOf(step('untimed', 1), step('late', 2, 10), step('early', 3, 5))).toEqual(['untimed', 'early', 'late']);
  expect(orderOf(step('second', 2, 5), step('first', 1, 5))).toEqual(['first', 'second']);
});

test('the last step of a cycle of parents has no children, because its child is already in the tree', () => {
  const nodes = spanTree([childOf('b', 'a', 1), childOf('a', 'b', 2)]);
  expect(nodes.map(({ span, depth, hasChildren }) => [span.span_id, depth, hasChildren])).toEqual([
    ['a', 0, true],
    ['b', 1, false],
  ]);
});

test('each step has its position among its siblings and their number, also at and below a cycle of parents', () => {
  const nodes = spanTree([childOf('b', 'a', 1), childOf('a', 'b', 2), childOf('b', 'c', 3), step('top', 4)]);
  expect(nodes.map(({ span, position, siblingCount }) => [span.span_id, position, siblingCount])).toEqual([
    ['top', 1, 2],
    ['a', 2, 2],
    ['b', 1, 1],
    ['c', 1, 1],
  ]);
});

test('the search for the next failed step follows the order of the tree; after the last step, it continues at the first step', () => {
  const withError = (each: Span): Span => ({ ...each, error: 'gone' });
  const withoutError = (each: Span): Span => ({ ...each, error: null });
  const nodes = spanTree([
    withError(step('b', 2, 2)),
    withoutError(step('a', 1, 1)),
    withError(childOf('a', 'a1', 3)),
    withoutError(childOf('a1', 'a2', 4)),
    withoutError(step('c', 5, 3)),
  ]);
  expect(['a', 'a1', 'a2', 'b', 'c', undefined].map((id) => findNextFailed(nodes, id))).toEqual([
    'a1',
    'b',
    'b',
    'a1',
    'a1',
    'a1',
  ]);
  expect(findNextFailed(spanTree([withoutError(step('a', 1))]), 'a')).toBeUndefined();
  expect([ancestorsOf(nodes, 'a2'), ancestorsOf(nodes, 'b'), ancestorsOf(nodes, 'x')]).toEqual([['a', 'a1'], [], []]);
});
