import { ApiError, ConnectionError, TimeoutError } from './errors.ts';

/** How calls are tried again. */
export interface RetryOptions {
  /** How often a request is sent at most, the first time included. Default: as often as its deadline admits; 1 turns retries off. */
  attemptsMax?: number;
  /** Longest pause before the second attempt, in milliseconds; it doubles with each one. Default 250. */
  pauseMs?: number;
  /** No pause is longer, in milliseconds, unless the service asks for more. Default 8000. */
  pauseMsMax?: number;
}

export const RETRY_DEFAULTS: Required<RetryOptions> = { attemptsMax: Number.POSITIVE_INFINITY, pauseMs: 250, pauseMsMax: 8000 };

/** Attempts of one round of what is sent in the background: a round that fails says so, and the queue pauses before the next. */
export const ROUND_ATTEMPTS_MAX = 5;

/** Answers after which the same request may succeed (docs/errors.md). With its Idempotency-Key it is safe to send again. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Whether the same request, sent again, may succeed. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ApiError) return RETRIED_STATUSES.has(error.status);
  return error instanceof ConnectionError || error instanceof TimeoutError;
}

/**
 * Milliseconds to wait after an attempt, the first being 1. Full jitter: anything between nothing and the bound, so that many clients
 * that failed together do not come back together. What the service asks for is waited at least. A pause that would outlast the call
 * is shortened to half of what is left, while that is worth another attempt.
 * @param leftMs milliseconds until the call's deadline
 * @returns undefined when there is no time for another attempt
 */
export function pauseAfter(
  attempt: number,
  error: unknown,
  leftMs: number,
  { pauseMs, pauseMsMax }: Required<RetryOptions>,
): number | undefined {
  const bound = Math.min(pauseMsMax, pauseMs * 2 ** (attempt - 1));
  const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  const pause = asked + Math.random() * bound;
  if (pause < leftMs) return pause;
  const half = (leftMs - asked) / 2;
  return half >= pauseMs ? asked + half : undefined;
}

/** Milliseconds that a `Retry-After` asks for: seconds, or a date (RFC 9110, section 10.2.3). Undefined when it is neither. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Waits; rejects with the signal's reason as soon as it is aborted. */
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
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
