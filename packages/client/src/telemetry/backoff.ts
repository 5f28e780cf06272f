/** The longest pause after the first failed round. Each further failed round doubles this limit. A pause is at least half of its limit. */
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 60_000;

/** The pause after failed rounds. A round is one request with its immediate retries. */
export class Backoff {
  #failures = 0;
  #resumeAt = 0;
  /** No request is sent before this time of `performance.now()`: the latest time that a `Retry-After` named. */
  #notBefore = 0;

  /** Records a failed round. Further failures during the pause belong to the same outage, so they do not double the next pause. */
  recordFailure(retryAfterMs = 0): void {
    const now = performance.now();
    if (this.msLeft === 0) {
      const boundMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#resumeAt = now + boundMs * (0.5 + Math.random() / 2);
    }
    this.#notBefore = Math.max(this.#notBefore, now + retryAfterMs);
  }

  /** Records a success and resets the pause. */
  recordSuccess(): void {
    this.#failures = 0;
    this.resumeNow();
  }

  /** Ends the current pause, but not before the time in `Retry-After`. Keeps the count of failures. */
  resume(): void {
    this.#resumeAt = 0;
  }

  /** Ends the current pause, even before the time in `Retry-After`. For the last attempt of a client that is closed. */
  resumeNow(): void {
    this.#resumeAt = 0;
    this.#notBefore = 0;
  }

  /** False from a failed round until the next success. */
  get isHealthy(): boolean {
    return this.#failures === 0;
  }

  /** The remaining milliseconds of the pause. */
  get msLeft(): number {
    return Math.max(0, Math.max(this.#resumeAt, this.#notBefore) - performance.now());
  }
}
