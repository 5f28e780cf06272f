/** Measures one duration: the system clock gives the start, a monotonic clock the duration. */
export class Stopwatch {
  readonly #startedAt = Date.now();
  readonly #from = performance.now();

  /** The time of the start. */
  get start(): { started_at: string } {
    return { started_at: new Date(this.#startedAt).toISOString() };
  }

  /** Start, end and duration in whole milliseconds. */
  stop(): { started_at: string; ended_at: string; latency_ms: number } {
    const latencyMs = Math.max(0, Math.round(performance.now() - this.#from));
    return { ...this.start, ended_at: new Date(this.#startedAt + latencyMs).toISOString(), latency_ms: latencyMs };
  }
}
