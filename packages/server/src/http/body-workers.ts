import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { OperationId } from '@countersign/core/contract/operations';
import { ApiError, unavailable } from '../errors/api-error.ts';
import type { IngestRequest } from '../ingest/ingest-request.ts';
import type { ExportRequest, PreparedExport } from '../otlp/export.ts';
import { WORKER_HEAP_MB } from './body-bounds.ts';
import type { BodyResult, BodyTask } from './body-worker.ts';

const workerFile = new URL(`./body-worker${extname(import.meta.url)}`, import.meta.url);

/** Bodies that wait for the worker: in all, and of one tenant. Their bytes are bounded by the admission of bodies. */
const WAITING_MAX = 1024;
const WAITING_OF_ONE_MAX = 768;
/** Bodies given to the worker at once: the next one is there when it ends the last. */
const UNDER_WAY_MAX = 2;

/** A prepared body with its bytes. */
export interface Prepared<Result = unknown> {
  prepared: Result;
  document: Buffer;
}

interface Waiting {
  task: BodyTask;
  resolve: (prepared: Prepared) => void;
  reject: (error: unknown) => void;
}

/**
 * Prepares large bodies on a worker thread, so that parsing one delays no other request. Tenants take turns. The thread starts with the
 * first large body; when it ends unexpectedly, its bodies are refused and the next body starts another.
 */
export class BodyWorkers {
  /** Bodies prepared or refused by the worker, since the start. */
  done = 0;
  readonly #heapMb: number;
  readonly #file: URL;
  readonly #queues = new Map<string, Waiting[]>();
  #waiting = 0;
  #underWay: Waiting[] = [];
  #worker: Worker | undefined;
  #closed = false;

  /** @param file the code of the thread; tests give one that ends. */
  constructor({ heapMb = WORKER_HEAP_MB, file = workerFile }: { heapMb?: number; file?: URL } = {}) {
    this.#heapMb = heapMb;
    this.#file = file;
  }

  /** Bodies that wait or are being prepared. */
  get length(): number {
    return this.#waiting + this.#underWay.length;
  }

  /** Prepares a body; its bytes are moved to the worker and come back with the result. Throws 503 when too many wait. */
  prepare(operation: OperationId, { document, ...asked }: IngestRequest): Promise<Prepared> {
    return this.#enqueue(asked.principal.tenantId, { operation, asked, document: ownBytes(document) });
  }

  /** The same for an export of OpenTelemetry. */
  prepareExport({ document, ...asked }: ExportRequest): Promise<Prepared<PreparedExport>> {
    const task = { operation: 'export' as const, asked, document: ownBytes(document) };
    return this.#enqueue(asked.principal.tenantId, task) as Promise<Prepared<PreparedExport>>;
  }

  #enqueue(tenantId: string, task: BodyTask): Promise<Prepared> {
    const queue = this.#queues.get(tenantId) ?? [];
    if (this.#closed || this.#waiting >= WAITING_MAX || queue.length >= WAITING_OF_ONE_MAX)
      throw unavailable('too many large bodies wait');
    return new Promise((resolve, reject) => {
      queue.push({ task, resolve, reject });
      this.#queues.set(tenantId, queue);
      this.#waiting += 1;
      this.#feed();
    });
  }

  /** Ends the worker; bodies that still wait are answered 503. */
  async close(): Promise<void> {
    this.#closed = true;
    const left = [...this.#underWay, ...[...this.#queues.values()].flat()];
    this.#underWay = [];
    this.#queues.clear();
    this.#waiting = 0;
    for (const { reject } of left) reject(unavailable('stopping'));
    await this.#worker?.terminate();
  }

  /** Gives the worker the next bodies, of one tenant after the other. */
  #feed(): void {
    while (this.#underWay.length < UNDER_WAY_MAX) {
      const [entry] = this.#queues;
      if (entry === undefined) return;
      const [tenantId, queue] = entry;
      const next = queue.shift()!;
      this.#queues.delete(tenantId); // and behind the others again
      if (queue.length > 0) this.#queues.set(tenantId, queue);
      this.#waiting -= 1;
      this.#underWay.push(next);
      this.#worker ??= this.#start();
      this.#worker.postMessage(next.task, [next.task.document.buffer]);
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#file, { resourceLimits: { maxOldGenerationSizeMb: this.#heapMb }, execArgv: [] });
    worker.unref();
    worker.on('message', (result: BodyResult) => this.#settle(result));
    let failure: unknown;
    // An error is followed by the exit.
    worker.on('error', (error) => (failure = error));
    worker.once('exit', () => this.#lost(worker, failure));
    return worker;
  }

  /** The worker takes bodies in order, so a result is that of the first one under way. */
  #settle(result: BodyResult): void {
    const waiting = this.#underWay.shift();
    this.done += 1;
    this.#feed();
    if (waiting === undefined) return;
    if ('refused' in result) waiting.reject(new ApiError(result.refused.code, result.refused.issues, result.refused.headers));
    else if ('fault' in result) waiting.reject(result.fault);
    else waiting.resolve({ prepared: result.prepared, document: Buffer.from(result.document.buffer) });
  }

  /** The worker has ended. The bodies that it had are answered 503 and may be sent again; those that wait go to another thread. */
  #lost(worker: Worker, failure: unknown): void {
    if (this.#worker === worker) this.#worker = undefined;
    const lost = this.#underWay;
    this.#underWay = [];
    for (const { reject } of lost) reject(unavailable(failure ?? 'the worker thread for large bodies has ended'));
    if (!this.#closed) this.#feed();
  }
}

/** The bytes in memory of their own: what is moved to the worker must not take others along. */
function ownBytes(document: Buffer): Uint8Array<ArrayBuffer> {
  if (document.byteLength === document.buffer.byteLength && document.buffer instanceof ArrayBuffer)
    return document as Buffer<ArrayBuffer>;
  return new Uint8Array(document);
}
