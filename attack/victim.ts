import { Worker } from 'node:worker_threads';
import type { Address } from './loopback.ts';

/** Kinds of records that the victim writes, in turn. */
export const KINDS = ['audit', 'telemetry', 'evaluations', 'traces'] as const;
export type Kind = (typeof KINDS)[number];

/** Options of the victim's thread. */
export interface VictimOptions extends Address {
  key: string;
  senders: number;
  kinds: readonly Kind[];
  /** The pause of a sender after each response. */
  pauseMs: number;
}

/** What the victim observed. */
export interface VictimReport {
  /** The latency of each acknowledged request, in milliseconds. */
  latencies: number[];
  /** The records that were acknowledged with 200. A marker is a random ID in the record, by which the record is found in the database. */
  acknowledged: { kind: Kind; marker: string }[];
  /** Responses with 503 or 429. */
  rejected: number;
  /** Requests without a response. Whether their records are stored is unknown. */
  withoutResponse: number;
  /** Responses that a valid request must not get: any status except 200, 503 and 429. */
  unexpectedResponses: string[];
}

/**
 * Well-behaved senders in a separate thread. The event loop of the attack does not delay their measurements; the attack competes with them
 * only for the processor.
 */
export class Victim {
  readonly #worker: Worker;
  readonly #report: Promise<VictimReport>;

  constructor(options: VictimOptions) {
    this.#worker = new Worker(new URL('./victim-thread.ts', import.meta.url), { workerData: options });
    this.#report = new Promise((resolve, reject) => {
      this.#worker.once('message', resolve).once('error', reject);
    });
    this.#report.catch(() => undefined);
  }

  /** Stops sending and returns the report. */
  async stop(): Promise<VictimReport> {
    this.#worker.postMessage('stop');
    return this.#report;
  }

  /** Ends the thread, which would otherwise keep the process alive. */
  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
