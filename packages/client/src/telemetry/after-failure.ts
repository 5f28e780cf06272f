import { ApiError, PayloadTooLargeError, ValidationError } from '../http/errors.ts';
import type { Issue } from '../wire/contract.ts';
import { type Batch, halves, issuesByEvent, newBatch } from './batch.ts';

/** What becomes of a batch whose request failed for good, or for now. */
export interface Aftermath {
  /** Events that the service will never take. */
  rejected: { text: string; issues: Issue[] }[];
  /** What is to be sent, now or later. */
  again: Batch[];
  /** Events that are given up. */
  dropped: number;
  /** Whether to wait before anything is sent: it is the service or the way to it, not these events. */
  mustWait: boolean;
}

/** How often a batch may be refused for reasons that the answer does not say (500) before it is given up: it must not block all behind it. */
export const REFUSALS_MAX = 3;

/** Refusals that say nothing about the batch: the key, the address, the load. They end when somebody mends that. */
const ABOUT_THE_CALLER: ReadonlySet<number> = new Set([401, 403, 404, 405, 407, 408, 429, 502, 503, 504]);

/** Whether the service refuses what was sent for what it is, now and ever after. */
export const isPermanent = (error: unknown): error is ValidationError | PayloadTooLargeError =>
  error instanceof ValidationError || error instanceof PayloadTooLargeError;

/** Whether the service refuses for reasons that the answer does not say, which may lie in what was sent. */
export const isRefusedByFault = (error: unknown): boolean => error instanceof ApiError && !ABOUT_THE_CALLER.has(error.status);

/** Decides what becomes of a batch. */
export function afterFailure(batch: Batch, error: unknown): Aftermath {
  if (error instanceof ValidationError) return withoutWrongEvents(batch, error);
  if (error instanceof PayloadTooLargeError) return inHalves(batch, error);
  if (!isRefusedByFault(error)) return later(batch);
  const refusals = batch.refusals + 1;
  if (refusals < REFUSALS_MAX) return later({ ...batch, refusals });
  return { rejected: [], again: [], dropped: batch.texts.length, mustWait: true };
}

const later = (batch: Batch): Aftermath => ({ rejected: [], again: [batch], dropped: 0, mustWait: true });

function withoutWrongEvents(batch: Batch, error: ValidationError): Aftermath {
  const wrong = issuesByEvent(error.issues, batch.texts.length);
  if (wrong.size === 0) return inHalves(batch, error);
  const rejected = [...wrong].map(([place, issues]) => ({ text: batch.texts[place]!, issues: issues.map(ofTheEvent) }));
  const rest = batch.texts.filter((_, place) => !wrong.has(place));
  return { rejected, again: rest.length === 0 ? [] : [newBatch(rest)], dropped: 0, mustWait: false };
}

/** The answer does not point at an event: the half without it is stored, until the event is alone. */
function inHalves(batch: Batch, { issues }: ApiError): Aftermath {
  const [text] = batch.texts;
  if (batch.texts.length > 1) return { rejected: [], again: halves(batch), dropped: 0, mustWait: false };
  return { rejected: [{ text: text!, issues: issues.map(ofTheEvent) }], again: [], dropped: 0, mustWait: false };
}

const ofTheEvent = (issue: Issue): Issue => ({ ...issue, path: issue.path.replace(/^\/events\/\d+/, '') });
