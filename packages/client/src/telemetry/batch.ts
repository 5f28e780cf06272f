import type { Issue } from '../wire/contract.ts';
import type { BatchBounds } from './event-queue.ts';

/** Events that travel in one request, under one Idempotency-Key however often it is sent: its outcome may not be known. */
export interface Batch {
  key: string;
  texts: readonly string[];
  /** How often the service refused it for reasons of its own. */
  refusals: number;
}

export const newBatch = (texts: readonly string[]): Batch => ({ key: crypto.randomUUID(), texts, refusals: 0 });

/** The request's body. */
export const batchBody = ({ texts }: Batch): string => `{"events":[${texts.join(',')}]}`;

/** Batches of these events that keep the bound in bytes, where an event alone may exceed it. Text of many scripts has more bytes than units. */
export function batchesOf(texts: readonly string[], bounds: BatchBounds): Batch[] {
  const whole = newBatch(texts);
  const fits = texts.length === 1 || texts.reduce((units, text) => units + text.length, 0) * 3 <= bounds.bytesMax;
  return fits || new TextEncoder().encode(batchBody(whole)).length <= bounds.bytesMax
    ? [whole]
    : halves(whole).flatMap((half) => batchesOf(half.texts, bounds));
}

/** The two halves of a batch: how a wrong event is found that the answer does not point at. */
export function halves({ texts }: Batch): Batch[] {
  const middle = Math.ceil(texts.length / 2);
  return [newBatch(texts.slice(0, middle)), newBatch(texts.slice(middle))];
}

/** What a 422 says of a batch: the issues of each wrong event by its place; empty when it points at none. */
export function issuesByEvent(issues: readonly Issue[], count: number): Map<number, Issue[]> {
  const found = new Map<number, Issue[]>();
  for (const issue of issues) {
    const [, digits] = /^\/events\/(0|[1-9]\d{0,5})(?=\/|$)/.exec(issue.path) ?? [];
    const place = Number(digits);
    if (digits === undefined || place >= count) continue;
    found.set(place, [...(found.get(place) ?? []), issue]);
  }
  return found;
}
