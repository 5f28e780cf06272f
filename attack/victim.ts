import { Worker } from 'node:worker_threads';
import type { Address } from './loopback.ts';

/** What records the victim writes, by turns. */
export const KINDS = ['audit', 'telemetry', 'evaluations', 'traces'] as const;
export type Kind = (typeof KINDS)[number];

/** What the victim's thread is given. */
export interface VictimOrders extends Address {
  key: string;
  senders: number;
  kinds: readonly Kind[];
  /** Between two requests of a sender. */
  pauseMs: number;
}

/** What the victim has met. */
export interface VictimReport {
  /** Milliseconds of each acknowledged request. */
  latencies: number[];
  /** Each stands in a record that was acknowledged with 200. */
  acknowledged: { kind: Kind; marker: string }[];
  refused: number;
  /** Ended without an answer: nobody knows whether these are stored. */
  unanswered: number;
  /** Statuses that no good request may get. */
  faults: string[];
}

/** A sender with good manners in a thread of its own: the attack's work does not delay what it measures, but for the processor. */
export class Victim {
  readonly #worker: Worker;
  readonly #report: Promise<VictimReport>;

  constructor(orders: VictimOrders) {
    this.#worker = new Worker(new URL('./victim-thread.ts', import.meta.url), { workerData: orders });
    this.#report = new Promise((resolve, reject) => {
      this.#worker.once('message', resolve).once('error', reject);
    });
    this.#report.catch(() => undefined);
  }

  /** Stops sending and gives back what was met. */
  async stop(): Promise<VictimReport> {
    this.#worker.postMessage('stop');
    return this.#report;
  }

  /** Ends the thread, which else would keep the process alive. */
  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
