/** The longest pause after the first failed round. It doubles with each further failed round. The actual pause is at least half of it. */
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 60_000;

/** The pause after failed rounds. A round is one request with its immediate retries. */
export class Backoff {
  #failures = 0;
  #resumeAt = 0;

  /** Records a failed round. The pause is at least as long as the time in `Retry-After`. */
  failed(retryAfterMs = 0): void {
    const bound = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#resumeAt = performance.now() + Math.max(retryAfterMs, bound * (0.5 + Math.random() / 2));
  }

  /** Records a success and resets the pause. */
  succeeded(): void {
    this.#failures = 0;
    this.#resumeAt = 0;
  }

  /** Ends the current pause but keeps the count of failures. */
  resume(): void {
    this.#resumeAt = 0;
  }

  /** False from a failed round until the next success. */
  get isHealthy(): boolean {
    return this.#failures === 0;
  }

  /** The remaining milliseconds of the pause. */
  get msLeft(): number {
    return Math.max(0, this.#resumeAt - performance.now());
  }
}
