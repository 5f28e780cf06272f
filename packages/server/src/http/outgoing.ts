import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Admission } from '../database/admission.ts';
import { unavailable } from '../errors/api-error.ts';

/** Smaller responses are not counted, because the number of connections and the unsent output of each are limited. */
const COUNTED_BYTES_MIN = 16 * 1024;

/** A larger response is written in chunks of this size. The next chunk follows when the connection has accepted the previous one. */
const CHUNK_BYTES = 256 * 1024;

/** The memory for a response of several pages of 4 MiB (ledger/export.ts): the two that `stream` reads first, and the next one. */
const PAGES_BYTES = 12 * 1024 * 1024;

/**
 * Node warns of a leak if a connection has more listeners for one event. The number is sufficient for the listeners of all active
 * responses (paced-input.ts), of Node and of this class.
 */
const SOCKET_LISTENERS_MAX = 32;

/** Reserves memory for data that is read for a response. */
export interface ResponseMemory {
  /**
   * Sets the reserved bytes of the response. Throws 503 if there is not enough memory, or if the response is large and the client has
   * disconnected. Call it before reading, so that nothing is read for a rejected response.
   */
  reserve(bytes: number): void;
}

/** Sends responses whose size depends on stored data, and limits their bytes in memory. Responds 503 beyond the limit. */
export class Outgoing {
  readonly #admission: Admission;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  /** Starts a response. Its bytes count against the tenant's share of the memory. */
  begin(reply: FastifyReply, tenantId: string): OutgoingResponse {
    return new OutgoingResponse(this.#admission, reply, tenantId);
  }
}

/** One response. Its bytes are reserved before they are read or sent, and released when the connection has sent or dropped them. */
export class OutgoingResponse implements ResponseMemory {
  readonly #admission: Admission;
  readonly #reply: FastifyReply;
  readonly #tenantId: string;
  #reservedBytes = 0;
  #isWatched = false;

  constructor(admission: Admission, reply: FastifyReply, tenantId: string) {
    this.#admission = admission;
    this.#reply = reply;
    this.#tenantId = tenantId;
  }

  /** Runs the function that creates and sends the response. If it fails, the reserved memory is released at once. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  reserve(bytes: number): void {
    // The bytes of a response without a client would never be released.
    if (bytes >= COUNTED_BYTES_MIN && this.#isGone()) throw unavailable('the client has disconnected');
    this.#setReserved(bytes);
  }

  /** Sends a response that is in memory. Throws 503 if there is not enough memory. */
  send(body: string | Buffer): FastifyReply {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    if (!this.#isGone()) this.#setReserved(length);
    if (length < COUNTED_BYTES_MIN) return this.#reply.send(body);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (length <= CHUNK_BYTES) return this.#reply.send(bytes);
    return this.#reply.header('content-length', length).send(Readable.from(chunksOf(bytes), { objectMode: false }));
  }

  /**
   * Streams pages of text as they are read. Throws before the response starts if one of the first two pages cannot be read, or if there is
   * not enough memory.
   */
  async stream(pages: AsyncIterable<string>): Promise<FastifyReply> {
    const reading = pages[Symbol.asyncIterator]();
    try {
      const [first, second] = [await reading.next(), await reading.next()];
      const page = first.done === true ? '' : first.value;
      if (second.done === true) return this.send(page);
      if (!this.#isGone()) this.#setReserved(Math.max(PAGES_BYTES, this.#reservedBytes));
      return this.#reply.send(Readable.from(allChunks([page, second.value], reading), { objectMode: false }));
    } catch (error) {
      await reading.return?.();
      throw error;
    }
  }

  /** Whether the client has disconnected. In this case no later `close` releases the memory. */
  #isGone(): boolean {
    return this.#reply.request.raw.socket.destroyed || this.#reply.raw.destroyed;
  }

  #setReserved(bytes: number): void {
    const countedBytes = bytes < COUNTED_BYTES_MIN ? 0 : bytes;
    if (countedBytes > this.#reservedBytes) {
      // The old reservation is released first. If it was the tenant's only one, the new reservation may then have any size
      // (Admission.enter), so a tenant's only response can grow.
      this.#release();
      this.#admission.enter(this.#tenantId, countedBytes);
    } else if (countedBytes < this.#reservedBytes) this.#admission.leave(this.#tenantId, this.#reservedBytes - countedBytes);
    this.#reservedBytes = countedBytes;
    if (countedBytes > 0) this.#watch();
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    const { raw, request } = this.#reply;
    const { socket } = request.raw;
    const onClose = () => {
      // If the response emits `close` while the connection emits `close`, this listener runs twice, although the first call removes it
      // from the response and from the connection.
      raw.removeListener('close', onClose);
      socket.removeListener('close', onClose);
      this.#release();
    };
    raw.once('close', onClose);
    // A response that waits for an earlier one emits no `close` when the connection ends.
    socket.setMaxListeners(SOCKET_LISTENERS_MAX).once('close', onClose);
  }

  #release(): void {
    if (this.#reservedBytes > 0) this.#admission.leave(this.#tenantId, this.#reservedBytes);
    this.#reservedBytes = 0;
  }
}

async function* allChunks(firstPages: string[], reading: AsyncIterator<string>): AsyncGenerator<Buffer> {
  try {
    for (const page of firstPages.splice(0)) yield* chunksOf(Buffer.from(page));
    for (let page = await reading.next(); page.done !== true; page = await reading.next())
      yield* chunksOf(Buffer.from(page.value));
  } finally {
    await reading.return?.();
  }
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
