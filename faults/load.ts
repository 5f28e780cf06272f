import { Worker } from 'node:worker_threads';
import type { Address } from '../attack/loopback.ts';
import type { Kind } from '../attack/victim.ts';

/** The servers that get the load, and a key for them. */
export interface LoadTarget {
  servers: readonly Address[];
  key: string;
}

/** A part of a load. */
export interface LoadPhase {
  /** Requests per second, sent without waiting for earlier responses. Undefined: every connection sends without pause. */
  perSecond: number | undefined;
  /** A whole number. */
  seconds: number;
  /** The largest number of connections. If all are in use, a request is not sent. */
  connectionsMax: number;
}

/** What was observed in one second. */
export interface LoadSecond {
  acknowledged: number;
  /** Responses with 503 or 429. */
  rejected: number;
  /** The 99th percentile of the latencies of acknowledged requests, in milliseconds; 0 if there were none. */
  p99Ms: number;
}

/** What was observed in a phase. */
export interface LoadReport {
  seconds: LoadSecond[];
  /** Markers of the records that were acknowledged with 200. */
  acknowledged: { kind: Kind; marker: string }[];
  /** Requests without a response. Whether their records are stored is unknown. */
  withoutResponse: number;
  /** Requests that were not sent because no connection was free. */
  notSent: number;
  /** Responses that must not occur: any status except 200, 503 and 429, and rejections without Retry-After. */
  unexpectedResponses: string[];
}

/** Sends a mixed load from its own thread, one phase after another. */
export class Load {
  readonly #worker: Worker;

  constructor(target: LoadTarget) {
    const workerData: LoadTarget = { key: target.key, servers: target.servers.map(({ host, port }) => ({ host, port })) };
    this.#worker = new Worker(new URL('./load-thread.ts', import.meta.url), { workerData });
  }

  /** Runs a phase and returns its report. */
  run(phase: LoadPhase): Promise<LoadReport> {
    return new Promise((resolve, reject) => {
      const finish = () => this.#worker.removeAllListeners('message').removeAllListeners('error');
      this.#worker.once('message', (report: LoadReport) => {
        finish();
        resolve(report);
      });
      this.#worker.once('error', (error) => {
        finish();
        reject(error);
      });
      this.#worker.postMessage(phase);
    });
  }

  /** Ends the thread. */
  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
