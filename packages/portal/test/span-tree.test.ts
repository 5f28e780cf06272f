import { expect, test } from 'vitest';
import { type Span, spanTree } from '../src/pages/runs/span-tree.ts';

/** A step at the top level that starts at `second`, or that has no time if `second` is undefined. */
const step = (span_id: string, position: number, second?: number) =>
  ({
    span_id,
    position,
    parent_span_id: null,
    started_at: second === undefined ? null : new Date(second * 1000).toISOString(),
    ended_at: null,
    latency_ms: null,
  }) as Span;

const orderOf = (...steps: Span[]) => spanTree(steps).map(({ span }) => span.span_id);

test('steps are sorted by start, and a step without a time stays after the step that arrived before it', () => {
  expect(orderOf(step('late', 1, 10), step('untimed', 2), step('early', 3, 5))).toEqual(['early', 'late', 'untimed']);
  expect(orderOf(step('untimed', 1), step('late', 2, 10), step('early', 3, 5))).toEqual(['untimed', 'early', 'late']);
  expect(orderOf(step('second', 2, 5), step('first', 1, 5))).toEqual(['first', 'second']);
});
