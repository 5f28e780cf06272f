import type { Issue } from '../wire/contract.ts';
import type { BatchBounds } from './event-queue.ts';

/** Events of one request. Its Idempotency-Key stays the same in retries, because the outcome of an attempt may be unknown. */
export interface Batch {
  key: string;
  texts: readonly string[];
  /** Events are numbered in the order in which they were accepted. No event of the batch has a smaller number. */
  numberMin: number;
  /** How often the batch failed with an error that does not name its cause, such as 500. */
  unexplainedFailures: number;
}

export const newBatch = (texts: readonly string[], numberMin: number): Batch => ({
  key: crypto.randomUUID(),
  texts,
  numberMin,
  unexplainedFailures: 0,
});

/** The request's body. */
export const batchBody = ({ texts }: Batch): string => `{"events":[${texts.join(',')}]}`;

/**
 * Splits events into batches within the byte limit; a larger event gets its own batch. The queue counts UTF-16 units, each of which can
 * have three bytes in UTF-8.
 * @param firstNumber the number of the first event.
 */
export function batchesOf(texts: readonly string[], firstNumber: number, bounds: BatchBounds): Batch[] {
  const whole = newBatch(texts, firstNumber);
  const fits = texts.length === 1 || texts.reduce((units, text) => units + text.length, 0) * 3 <= bounds.bytesMax;
  return fits || new TextEncoder().encode(batchBody(whole)).length <= bounds.bytesMax
    ? [whole]
    : splitInHalves(whole).flatMap((half) => batchesOf(half.texts, half.numberMin, bounds));
}

/** Splits a batch in two: because it is too large, or to find an invalid event that the response does not name. */
export function splitInHalves({ texts, numberMin }: Batch): Batch[] {
  const middle = Math.ceil(texts.length / 2);
  return [newBatch(texts.slice(0, middle), numberMin), newBatch(texts.slice(middle), numberMin + middle)];
}

/** The issues of a 422 by the index of their event; empty if no issue names an event. */
export function issuesByEvent(issues: readonly Issue[], count: number): Map<number, Issue[]> {
  const issuesByIndex = new Map<number, Issue[]>();
  for (const issue of issues) {
    const [, digits] = /^\/events\/(0|[1-9]\d{0,5})(?=\/|$)/.exec(issue.path) ?? [];
    const index = Number(digits);
    if (digits === undefined || index >= count) continue;
    issuesByIndex.set(index, [...(issuesByIndex.get(index) ?? []), issue]);
  }
  return issuesByIndex;
}
