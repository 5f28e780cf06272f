/** Times one thing: the clock says when it began, and a clock that is never set says how long it took. */
export class Stopwatch {
  readonly #startedAt = Date.now();
  readonly #from = performance.now();

  /** When it began. */
  get start(): { started_at: string } {
    return { started_at: new Date(this.#startedAt).toISOString() };
  }

  /** When it began and ended, and how long it took, in whole milliseconds. */
  stop(): { started_at: string; ended_at: string; latency_ms: number } {
    const latency = Math.max(0, Math.round(performance.now() - this.#from));
    return { ...this.start, ended_at: new Date(this.#startedAt + latency).toISOString(), latency_ms: latency };
  }
}
