import { ApiError } from '../errors/api-error.ts';

const WINDOW_MS = 60_000;

interface Window {
  startedAtMs: number;
  usedRequests: number;
}

/**
 * Limits the requests per minute of each key in fixed windows. Each server process counts separately, so the limit protects against floods
 * and is not a quota. Responses have the RateLimit fields of draft-ietf-httpapi-ratelimit-headers.
 */
export class RateLimit {
  readonly #perMinute: number;
  readonly #windows = new Map<string, Window>();

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /**
   * Counts one request and returns the headers for its response. Throws 429 with these headers if the window has no requests left.
   * @param nowMs milliseconds of a monotonic clock. A clock that is set back would keep a window open.
   */
  take(keyId: string, nowMs: number): Record<string, string> {
    let window = this.#windows.get(keyId);
    if (window === undefined || nowMs - window.startedAtMs >= WINDOW_MS) {
      if (this.#windows.size >= 10_000) this.#removeEndedWindows(nowMs);
      window = { startedAtMs: nowMs, usedRequests: 0 };
      this.#windows.set(keyId, window);
    }
    const resetSeconds = Math.max(1, Math.ceil((window.startedAtMs + WINDOW_MS - nowMs) / 1000));
    const headers = (remaining: number) => ({
      'RateLimit-Policy': `"per-key";q=${this.#perMinute};w=60`,
      RateLimit: `"per-key";r=${remaining};t=${resetSeconds}`,
    });
    if (window.usedRequests >= this.#perMinute)
      throw new ApiError('rate_limited', [], { ...headers(0), 'Retry-After': String(resetSeconds) });
    window.usedRequests += 1;
    return headers(this.#perMinute - window.usedRequests);
  }

  #removeEndedWindows(nowMs: number): void {
    for (const [keyId, { startedAtMs }] of this.#windows) if (nowMs - startedAtMs >= WINDOW_MS) this.#windows.delete(keyId);
  }
}
