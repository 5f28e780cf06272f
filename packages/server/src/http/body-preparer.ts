import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { OperationId } from '@countersign/core/contract/operations';
import { ApiError, unavailable } from '../errors/api-error.ts';
import type { IngestRequest } from '../ingest/ingest-request.ts';
import type { ExportRequest, PreparedExport } from '../otlp/export.ts';
import { WORKER_HEAP_MB } from './body-bounds.ts';
import type { BodyResult, BodyTask } from './body-worker.ts';

const workerFile = new URL(`./body-worker${extname(import.meta.url)}`, import.meta.url);

/** The maximum number of queued bodies, in total and of one tenant. `Admission` limits their bytes. */
const WAITING_MAX = 1024;
const WAITING_PER_TENANT_MAX = 768;
/** The maximum number of bodies that the worker has at once. With two, it has the next body when it finishes one. */
const IN_PROGRESS_MAX = 2;

/** A prepared body with its bytes. */
export interface PreparationResult<Result = unknown> {
  prepared: Result;
  document: Buffer;
}

interface QueuedTask {
  task: BodyTask;
  resolve: (prepared: PreparationResult) => void;
  reject: (error: unknown) => void;
}

/**
 * Prepares large bodies on a worker thread, so that parsing one does not delay requests with small bodies. Tenants take turns. The first
 * large body starts the thread. If the thread ends unexpectedly, the bodies in progress are rejected. The next body starts a new thread.
 */
export class BodyPreparer {
  /** Bodies prepared or rejected by the worker since the start. */
  finishedCount = 0;
  readonly #heapMb: number;
  readonly #file: URL;
  readonly #queues = new Map<string, QueuedTask[]>();
  #waiting = 0;
  #inProgress: QueuedTask[] = [];
  #worker: Worker | undefined;
  #isClosed = false;

  /** @param file the code of the thread; tests pass code that exits. */
  constructor({ heapMb = WORKER_HEAP_MB, file = workerFile }: { heapMb?: number; file?: URL } = {}) {
    this.#heapMb = heapMb;
    this.#file = file;
  }

  /** Bodies that are queued or being prepared. */
  get length(): number {
    return this.#waiting + this.#inProgress.length;
  }

  /**
   * Prepares a body. Its bytes may be moved to the worker, so use the bytes in the result. Throws 503 if too many bodies are queued, or
   * after `close`. Rejects with the error of the preparation, or with 503 if the worker exits.
   */
  prepare(operation: OperationId, { document, ...request }: IngestRequest): Promise<PreparationResult> {
    return this.#enqueue(request.principal.tenantId, { operation, request, document: withOwnBuffer(document) });
  }

  /** Prepares an OpenTelemetry export, as `prepare` does. */
  prepareExport({ document, ...request }: ExportRequest): Promise<PreparationResult<PreparedExport>> {
    const task = { operation: 'export' as const, request, document: withOwnBuffer(document) };
    return this.#enqueue(request.principal.tenantId, task) as Promise<PreparationResult<PreparedExport>>;
  }

  #enqueue(tenantId: string, task: BodyTask): Promise<PreparationResult> {
    const queue = this.#queues.get(tenantId) ?? [];
    if (this.#isClosed) throw unavailable('the server is stopping');
    if (this.#waiting >= WAITING_MAX || queue.length >= WAITING_PER_TENANT_MAX)
      throw unavailable('too many large bodies are queued');
    return new Promise((resolve, reject) => {
      queue.push({ task, resolve, reject });
      this.#queues.set(tenantId, queue);
      this.#waiting += 1;
      this.#sendToWorker();
    });
  }

  /** Stops the worker. Queued bodies and those in progress get a 503. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const unfinished = [...this.#inProgress, ...[...this.#queues.values()].flat()];
    this.#inProgress = [];
    this.#queues.clear();
    this.#waiting = 0;
    for (const { reject } of unfinished) reject(unavailable('the server is stopping'));
    await this.#worker?.terminate();
  }

  /** Sends queued bodies to the worker, from each tenant in turn. */
  #sendToWorker(): void {
    while (this.#inProgress.length < IN_PROGRESS_MAX) {
      const [entry] = this.#queues;
      if (entry === undefined) return;
      const [tenantId, queue] = entry;
      const next = queue.shift()!;
      this.#queues.delete(tenantId); // The tenant goes to the end.
      if (queue.length > 0) this.#queues.set(tenantId, queue);
      this.#waiting -= 1;
      this.#inProgress.push(next);
      this.#worker ??= this.#start();
      this.#worker.postMessage(next.task, [next.task.document.buffer]);
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#file, { resourceLimits: { maxOldGenerationSizeMb: this.#heapMb }, execArgv: [] });
    worker.unref();
    worker.on('message', (result: BodyResult) => this.#settle(result));
    let failure: unknown;
    // An error is followed by an exit.
    worker.on('error', (error) => (failure = error));
    worker.once('exit', () => this.#onExit(worker, failure));
    return worker;
  }

  /** Passes on a result. The worker prepares bodies in order, so the result belongs to the oldest body in progress. */
  #settle(result: BodyResult): void {
    const finished = this.#inProgress.shift();
    this.finishedCount += 1;
    this.#sendToWorker();
    if (finished === undefined) return;
    if ('rejection' in result) {
      const { code, issues, headers } = result.rejection;
      finished.reject(new ApiError(code, issues, headers));
    } else if ('fault' in result) finished.reject(result.fault);
    else finished.resolve({ prepared: result.prepared, document: Buffer.from(result.document.buffer) });
  }

  /** Called when the worker has exited. Bodies in progress get a 503, so clients may send them again. Queued bodies go to a new thread. */
  #onExit(worker: Worker, failure: unknown): void {
    if (this.#worker === worker) this.#worker = undefined;
    const unfinished = this.#inProgress;
    this.#inProgress = [];
    for (const { reject } of unfinished) reject(unavailable(failure ?? 'the worker thread for large bodies has exited'));
    if (!this.#isClosed) this.#sendToWorker();
  }
}

/** Returns the bytes in a buffer that contains nothing else, because a transfer moves the whole buffer. Copies them if necessary. */
function withOwnBuffer(document: Buffer): Uint8Array<ArrayBuffer> {
  if (document.byteLength === document.buffer.byteLength && document.buffer instanceof ArrayBuffer)
    return document as Buffer<ArrayBuffer>;
  return new Uint8Array(document);
}
