/** Pause after the first round that the service did not take; doubled with each one in a row. */
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 60_000;

/** How long nothing is sent after rounds that the service did not take. */
export class Backoff {
  #failures = 0;
  #resumeAt = 0;

  /** A round failed; the service may have asked for a pause of its own. */
  failed(askedMs = 0): void {
    const bound = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#resumeAt = performance.now() + Math.max(askedMs, bound * (0.5 + Math.random() / 2));
  }

  /** Something was taken: all is well again. */
  succeeded(): void {
    this.#failures = 0;
    this.#resumeAt = 0;
  }

  /** Ends the pause that runs, and not the memory of the failures. */
  resume(): void {
    this.#resumeAt = 0;
  }

  /** Whether the last round was taken. */
  get isWell(): boolean {
    return this.#failures === 0;
  }

  /** Milliseconds left of the pause. */
  get msLeft(): number {
    return Math.max(0, this.#resumeAt - performance.now());
  }
}
