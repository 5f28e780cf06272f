import { ApiError, PayloadTooLargeError, ValidationError } from '../http/errors.ts';
import type { Issue } from '../wire/contract.ts';
import { type Batch, issuesByEvent, newBatch, splitInHalves } from './batch.ts';

/** What happens to a batch after its request failed. */
export interface BatchOutcome {
  /** Events that the service rejected permanently. */
  rejected: { text: string; issues: Issue[] }[];
  /** Batches to send again. */
  batchesToSend: Batch[];
  /** The number of dropped events. */
  dropped: number;
  /** Whether to pause before the next request, because the fault may be in the service or the network. */
  mustWait: boolean;
}

/** The number of unexplained errors, such as 500, after which a batch or run is dropped, so that it does not block the queue. */
export const UNEXPLAINED_FAILURES_MAX = 3;

/** Statuses that depend on the key, the address, the headers or the load, and not on the content. */
const STATUSES_NOT_ABOUT_CONTENT: ReadonlySet<number> = new Set([401, 403, 404, 405, 407, 408, 421, 429, 431, 502, 503, 504]);

/** Whether the service will reject this content every time. */
export const isPermanent = (error: unknown): error is ValidationError | PayloadTooLargeError =>
  error instanceof ValidationError || error instanceof PayloadTooLargeError;

/** Whether the status gives no reason for the failure, so the content may be the reason. Callers check `isPermanent` first. */
export const isUnexplainedFailure = (error: unknown): boolean =>
  error instanceof ApiError && !STATUSES_NOT_ABOUT_CONTENT.has(error.status);

/** Decides what happens to a batch after an error. */
export function outcomeOfFailure(batch: Batch, error: unknown): BatchOutcome {
  if (error instanceof ValidationError) return rejectionOutcome(batch, error);
  if (error instanceof PayloadTooLargeError) return splitOutcome(batch, error);
  if (!isUnexplainedFailure(error)) return retryOutcome(batch);
  const unexplainedFailures = batch.unexplainedFailures + 1;
  if (unexplainedFailures < UNEXPLAINED_FAILURES_MAX) return retryOutcome({ ...batch, unexplainedFailures });
  return { rejected: [], batchesToSend: [], dropped: batch.texts.length, mustWait: true };
}

const retryOutcome = (batch: Batch): BatchOutcome => ({ rejected: [], batchesToSend: [batch], dropped: 0, mustWait: true });

function rejectionOutcome(batch: Batch, error: ValidationError): BatchOutcome {
  const issuesByIndex = issuesByEvent(error.issues, batch.texts.length);
  if (issuesByIndex.size === 0) return splitOutcome(batch, error);
  const rejected = [...issuesByIndex].map(([index, issues]) => ({
    text: batch.texts[index]!,
    issues: issues.map(relativeToEvent),
  }));
  const otherTexts = batch.texts.filter((_, index) => !issuesByIndex.has(index));
  return {
    rejected,
    batchesToSend: otherTexts.length === 0 ? [] : [newBatch(otherTexts, batch.numberMin)],
    dropped: 0,
    mustWait: false,
  };
}

/** Handles an error that names no event: splits the batch in two, or rejects its only event. So the other events are stored. */
function splitOutcome(batch: Batch, { issues }: ApiError): BatchOutcome {
  const [text] = batch.texts;
  if (batch.texts.length > 1) return { rejected: [], batchesToSend: splitInHalves(batch), dropped: 0, mustWait: false };
  return { rejected: [{ text: text!, issues: issues.map(relativeToEvent) }], batchesToSend: [], dropped: 0, mustWait: false };
}

const relativeToEvent = (issue: Issue): Issue => ({ ...issue, path: issue.path.replace(/^\/events\/\d+/, '') });
