import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Admission } from '../database/admission.ts';

/** Smaller responses are not counted: the bounds on connections and on their unsent output hold for them. */
const COUNTED_BYTES_MIN = 16 * 1024;

/** A response is written in pieces of this size, the next when the one before is sent. */
const PIECE_BYTES = 256 * 1024;

/** What a response of several pages may hold: the page that is being sent and the one that is being read (storage/audit-pages.ts). */
const PAGES_BYTES = 8 * 1024 * 1024;

/** Each response in work listens to its connection (paced-input.ts), beside Node and us. */
const SOCKET_LISTENERS_MAX = 32;

/** Sends responses whose size depends on stored data, and bounds the bytes of them that are in memory. Beyond the bound: 503. */
export class Outgoing {
  readonly #admission: Admission;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  /** Sends a response that is in memory; its bytes are counted until the connection has taken or lost them. */
  send(reply: FastifyReply, tenantId: string, body: string | Buffer): FastifyReply {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    if (length < COUNTED_BYTES_MIN) return reply.send(body);
    this.#hold(reply, tenantId, length);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (length <= PIECE_BYTES) return reply.send(bytes);
    return reply.header('content-length', length).send(Readable.from(pieces(bytes), { objectMode: false }));
  }

  /** Streams pages of text as they are read. A page that cannot be read, or for which there is no room, fails before the response begins. */
  async stream(reply: FastifyReply, tenantId: string, pages: AsyncIterable<string>): Promise<FastifyReply> {
    const reading = pages[Symbol.asyncIterator]();
    try {
      const [first, second] = [await reading.next(), await reading.next()];
      const only = first.done === true ? '' : first.value;
      if (second.done === true) return this.send(reply, tenantId, only);
      this.#hold(reply, tenantId, PAGES_BYTES);
      return reply.send(Readable.from(allPieces([only, second.value], reading), { objectMode: false }));
    } catch (error) {
      await reading.return?.();
      throw error;
    }
  }

  #hold(reply: FastifyReply, tenantId: string, bytes: number): void {
    const { socket } = reply.request.raw;
    if (socket.destroyed || reply.raw.destroyed) return; // nobody takes it any more, and `close` does not come again
    this.#admission.enter(tenantId, bytes);
    let isHeld = true;
    const release = () => {
      // One `close` may be emitted within the other, whose listeners are fixed by then.
      if (!isHeld) return;
      isHeld = false;
      reply.raw.removeListener('close', release);
      socket.removeListener('close', release);
      this.#admission.leave(tenantId, bytes);
    };
    reply.raw.once('close', release);
    // A response that waits behind another has no `close` of its own when the connection ends.
    socket.setMaxListeners(SOCKET_LISTENERS_MAX).once('close', release);
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
