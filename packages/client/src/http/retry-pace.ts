import { timerMs } from '../runtime/timers.ts';
import { ApiError, ConnectionError, TimeoutError } from './errors.ts';

/** How calls are retried. */
export interface RetryOptions {
  /** The maximum number of attempts. Default: unlimited within the deadline; 1 turns retries off. */
  attemptsMax?: number;
  /** The longest pause before the second attempt, in milliseconds. It doubles with each further attempt. Default 250. */
  pauseMs?: number;
  /** The upper limit of every pause, in milliseconds, without the time in `Retry-After`, which is added. Default 8000. */
  pauseMsMax?: number;
}

export const RETRY_DEFAULTS: Required<RetryOptions> = { attemptsMax: Number.POSITIVE_INFINITY, pauseMs: 250, pauseMsMax: 8000 };

/** Attempts per round in the background. After a failed round the queue pauses. */
export const ROUND_ATTEMPTS_MAX = 5;

/** Statuses after which the same request may succeed (docs/errors.md). Its Idempotency-Key makes a retry safe. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Whether the same request may succeed later. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ApiError) return RETRIED_STATUSES.has(error.status);
  return error instanceof ConnectionError || error instanceof TimeoutError;
}

/**
 * The pause after a failed attempt, in milliseconds. It is random, up to a bound that doubles with each attempt (full jitter), so that
 * clients that failed together do not retry together. The time in `Retry-After` is added to it. If the sum reaches the deadline, the pause
 * ends halfway between the time in `Retry-After` and the deadline instead.
 * @param attempt number of the failed attempt; the first is 1
 * @param leftMs milliseconds until the call's deadline
 * @returns undefined if too little time is left for another attempt
 */
export function pauseAfter(
  attempt: number,
  error: unknown,
  leftMs: number,
  { pauseMs, pauseMsMax }: Required<RetryOptions>,
): number | undefined {
  const boundMs = Math.min(pauseMsMax, pauseMs * 2 ** (attempt - 1));
  const requestedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  const fullPauseMs = requestedMs + Math.random() * boundMs;
  if (fullPauseMs < leftMs) return fullPauseMs;
  const shortenedPauseMs = (leftMs - requestedMs) / 2;
  return shortenedPauseMs >= pauseMs ? requestedMs + shortenedPauseMs : undefined;
}

/** The milliseconds of a `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). Undefined for anything else. */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Waits. Rejects with the signal's reason as soon as the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, timerMs(ms));
    signal?.addEventListener('abort', abort, { once: true });
  });
}
