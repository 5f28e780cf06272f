import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Admission } from '../database/admission.ts';
import { unavailable } from '../errors/api-error.ts';

/** Smaller responses are not counted, because connections and their unsent output are limited too. */
const COUNTED_BYTES_MIN = 16 * 1024;

/** A response is written in chunks of this size, the next after the previous one is sent. */
const PIECE_BYTES = 256 * 1024;

/** The memory of a response of several pages: the page being sent and the one being read (storage/audit-pages.ts). */
const PAGES_BYTES = 8 * 1024 * 1024;

/** The listeners of a connection: each active response (paced-input.ts), Node and this class. */
const SOCKET_LISTENERS_MAX = 32;

/** Reserves memory for data that is read for a response. */
export interface Room {
  /**
   * Sets the reserved bytes of the response. Throws 503 if there is not enough memory, so reserve before reading, so that nothing is read
   * for a rejected response.
   */
  reserve(bytes: number): void;
}

/** Sends responses whose size depends on stored data, and limits their bytes in memory. Beyond the limit: 503. */
export class Outgoing {
  readonly #admission: Admission;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  /** Starts a response, whose bytes count against a tenant's share. */
  begin(reply: FastifyReply, tenantId: string): OutgoingResponse {
    return new OutgoingResponse(this.#admission, reply, tenantId);
  }
}

/** One response. Its bytes are counted from before they are read until the connection has sent or dropped them. */
export class OutgoingResponse implements Room {
  readonly #admission: Admission;
  readonly #reply: FastifyReply;
  readonly #tenantId: string;
  #held = 0;
  #isWatched = false;

  constructor(admission: Admission, reply: FastifyReply, tenantId: string) {
    this.#admission = admission;
    this.#reply = reply;
    this.#tenantId = tenantId;
  }

  /** Runs the work that makes and sends the response. If it fails, the reserved memory is released at once. */
  async during<T>(work: () => Promise<T>): Promise<T> {
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
    this.#hold(bytes);
  }

  /** Sends a response that is in memory. */
  send(body: string | Buffer): FastifyReply {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    if (!this.#isGone()) this.#hold(length);
    if (length < COUNTED_BYTES_MIN) return this.#reply.send(body);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (length <= PIECE_BYTES) return this.#reply.send(bytes);
    return this.#reply.header('content-length', length).send(Readable.from(pieces(bytes), { objectMode: false }));
  }

  /** Streams pages of text as they are read. If the first page cannot be read or has no memory, the response fails before it starts. */
  async stream(pages: AsyncIterable<string>): Promise<FastifyReply> {
    const reading = pages[Symbol.asyncIterator]();
    try {
      const [first, second] = [await reading.next(), await reading.next()];
      const only = first.done === true ? '' : first.value;
      if (second.done === true) return this.send(only);
      if (!this.#isGone()) this.#hold(PAGES_BYTES);
      return this.#reply.send(Readable.from(allPieces([only, second.value], reading), { objectMode: false }));
    } catch (error) {
      await reading.return?.();
      throw error;
    }
  }

  /** Whether the client is gone: then `close` is not emitted again. */
  #isGone(): boolean {
    return this.#reply.request.raw.socket.destroyed || this.#reply.raw.destroyed;
  }

  #hold(bytes: number): void {
    const wanted = bytes < COUNTED_BYTES_MIN ? 0 : bytes;
    if (wanted > this.#held) {
      // Everything is reserved again, because a tenant's only response is accepted whatever its size, also when it grows.
      this.#release();
      this.#admission.enter(this.#tenantId, wanted);
    } else if (wanted < this.#held) this.#admission.leave(this.#tenantId, this.#held - wanted);
    this.#held = wanted;
    if (wanted > 0) this.#watch();
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    const { raw, request } = this.#reply;
    const { socket } = request.raw;
    const closed = () => {
      // One `close` may be emitted within the other, whose list of listeners is fixed by then.
      raw.removeListener('close', closed);
      socket.removeListener('close', closed);
      this.#release();
    };
    raw.once('close', closed);
    // A response that waits for an earlier one gets no `close` of its own when the connection ends.
    socket.setMaxListeners(SOCKET_LISTENERS_MAX).once('close', closed);
  }

  #release(): void {
    if (this.#held > 0) this.#admission.leave(this.#tenantId, this.#held);
    this.#held = 0;
  }
}

async function* allPieces(read: string[], reading: AsyncIterator<string>): AsyncGenerator<Buffer> {
  try {
    for (const page of read.splice(0)) yield* pieces(Buffer.from(page));
    for (let page = await reading.next(); page.done !== true; page = await reading.next()) yield* pieces(Buffer.from(page.value));
  } finally {
    await reading.return?.();
  }
}

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
