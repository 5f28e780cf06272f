import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Admission } from '../database/admission.ts';
import { unavailable } from '../errors/api-error.ts';

/** Smaller responses are not counted: the bounds on connections and on their unsent output hold for them. */
const COUNTED_BYTES_MIN = 16 * 1024;

/** A response is written in pieces of this size, the next when the one before is sent. */
const PIECE_BYTES = 256 * 1024;

/** What a response of several pages may hold: the page that is being sent and the one that is being read (storage/audit-pages.ts). */
const PAGES_BYTES = 8 * 1024 * 1024;

/** Each response in work listens to its connection (paced-input.ts), beside Node and us. */
const SOCKET_LISTENERS_MAX = 32;

/** Where room is reserved for what is read to make a response. */
export interface Room {
  /**
   * Counts this many bytes for the response from now on, instead of those counted before. Throws 503 when there is no room, so reserve
   * before reading: what is refused must not be read from the database first.
   */
  reserve(bytes: number): void;
}

/** Sends responses whose size depends on stored data, and bounds the bytes of them that are in memory. Beyond the bound: 503. */
export class Outgoing {
  readonly #admission: Admission;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  /** Begins a response, whose bytes count against a tenant's share. */
  begin(reply: FastifyReply, tenantId: string): OutgoingResponse {
    return new OutgoingResponse(this.#admission, reply, tenantId);
  }
}

/** One response: its bytes are counted from before they are read until the connection has taken or lost them. */
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

  /** Does what makes and sends the response. When that fails, the reserved room is given back at once. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  reserve(bytes: number): void {
    // What is read for nobody would be counted by nothing.
    if (bytes >= COUNTED_BYTES_MIN && this.#isGone()) throw unavailable('the client has left');
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

  /** Streams pages of text as they are read. A page that cannot be read, or for which there is no room, fails before the response begins. */
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

  /** Whether nobody takes the response any more: `close` does not come again. */
  #isGone(): boolean {
    return this.#reply.request.raw.socket.destroyed || this.#reply.raw.destroyed;
  }

  #hold(bytes: number): void {
    const wanted = bytes < COUNTED_BYTES_MIN ? 0 : bytes;
    if (wanted > this.#held) {
      // All of it anew: a response that is its tenant's only one is let in whatever its size, and so is its growth.
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
      // One `close` may be emitted within the other, whose listeners are fixed by then.
      raw.removeListener('close', closed);
      socket.removeListener('close', closed);
      this.#release();
    };
    raw.once('close', closed);
    // A response that waits behind another has no `close` of its own when the connection ends.
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
