import { ApiError } from '../errors/api-error.ts';

const WINDOW_MS = 60_000;

interface Window {
  startedAt: number;
  used: number;
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
   * @param now milliseconds of a monotonic clock. A clock that is set back would keep a window open.
   */
  take(keyId: string, now: number): Record<string, string> {
    let window = this.#windows.get(keyId);
    if (window === undefined || now - window.startedAt >= WINDOW_MS) {
      if (this.#windows.size >= 10_000) this.#removeEndedWindows(now);
      window = { startedAt: now, used: 0 };
      this.#windows.set(keyId, window);
    }
    const resetSeconds = Math.max(1, Math.ceil((window.startedAt + WINDOW_MS - now) / 1000));
    const headers = (remaining: number) => ({
      'RateLimit-Policy': `"per-key";q=${this.#perMinute};w=60`,
      RateLimit: `"per-key";r=${remaining};t=${resetSeconds}`,
    });
    if (window.used >= this.#perMinute)
      throw new ApiError('rate_limited', [], { ...headers(0), 'Retry-After': String(resetSeconds) });
    window.used += 1;
    return headers(this.#perMinute - window.used);
  }

  #removeEndedWindows(now: number): void {
    for (const [keyId, { startedAt }] of this.#windows) if (now - startedAt >= WINDOW_MS) this.#windows.delete(keyId);
  }
}
