import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { readIntoSharedBuffer } from './shared-read-buffer.ts';
import { WaitingBytes } from './waiting-bytes.ts';

/** The maximum number of requests of one connection that are processed at the same time. */
export const ACTIVE_REQUESTS_MAX = 8;

/** The next request of a connection starts only if the connection has at most this much unsent output. */
const UNSENT_BYTES_MAX = 256 * 1024;

/**
 * The maximum waiting bytes of all connections of a server. One connection usually has at most 64 KB of them, and Node buffers at most
 * another 64 KB.
 */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The maximum number of chunks of a connection's waiting input that are parsed in one turn. A chunk ends where a head could end, and a body
 * may contain many such places.
 */
const CHUNKS_MAX = 256;

/** The time for starting waiting requests. After this time, the event loop continues. */
const TURN_MS = 4;

/** Every request head ends with this sequence and contains it nowhere else: Node's parser rejects line breaks without CR. */
const END_OF_HEAD = Buffer.from('\r\n\r\n');

/**
 * Limits the active requests of each connection. Node parses everything that one read of a socket returns, up to 64 KB, and starts all
 * requests in it at once: several thousand. Here the parser gets only the bytes up to the end of the last head whose request may start.
 * The other bytes wait while the socket is paused, and are parsed as responses are sent. Requests keep their order.
 * @param event the event by which Node's HTTP parser gets a socket: `secureConnection` with TLS.
 * @param onUnpaced called once, with the missing part, if this version of Node lacks what pacing needs. Connections are then not paced.
 * @param waitingBytesMax the maximum waiting bytes of all connections. Beyond it, connections are closed.
 */
export function paceRequests(
  server: Server,
  event: 'connection' | 'secureConnection',
  onUnpaced: (missing: string) => void,
  waitingBytesMax = WAITING_BYTES_MAX,
): void {
  const inputs = new WeakMap<object, PacedInput>();
  const waiting = new WaitingBytes(waitingBytesMax);
  let isReported = false;
  const turns = new Turns();
  function leave(this: ServerResponse): void {
    inputs.get(this.req.socket)?.leave();
  }
  server.on(event, (socket: Socket) => {
    if (socket.destroyed || socket.writableEnded) return; // rejected by connections.ts
    const missing = missingInternal(socket);
    if (missing === undefined) inputs.set(socket, new PacedInput(socket, turns, waiting));
    else if (!isReported) onUnpaced(missing);
    isReported ||= missing !== undefined;
  });
  server.prependListener('request', ({ socket }, response) => {
    const input = inputs.get(socket);
    if (input === undefined) return;
    input.enter();
    response.once('close', leave);
  });
  // Input after a malformed request is ignored.
  server.on('clientError', (_error, socket) => inputs.get(socket)?.drop());
}

/** Internal properties of a connection of Node's HTTP server. */
type ServedSocket = Socket & { _paused?: boolean; parser?: object | null };

/** The first internal property or listener that pacing needs and this socket lacks; undefined if none. Versions of Node may differ. */
function missingInternal(socket: ServedSocket): string | undefined {
  if (typeof socket._paused !== 'boolean') return 'socket._paused';
  if (typeof (socket.parser ?? undefined) !== 'object') return 'socket.parser';
  return (['data', 'end'] as const).find((event) => socket.listenerCount(event) === 0);
}

/** The input of one connection, between its socket and Node's parser. */
class PacedInput {
  readonly #socket: ServedSocket;
  readonly #turns: Turns;
  readonly #parse: (bytes: Buffer) => void;
  readonly #finish: () => void;
  readonly #waitingBytes: WaitingBytes;
  #waiting: Buffer[] = [];
  #activeRequests = 0;
  #startedRequests = 0;
  #isEnded = false;
  #isDropped = false;

  /** Replaces the listeners by which Node passes input to its parser. */
  constructor(socket: Socket, turns: Turns, waitingBytes: WaitingBytes) {
    this.#socket = socket;
    this.#turns = turns;
    this.#waitingBytes = waitingBytes;
    this.#parse = socket.listeners('data').at(-1) as (bytes: Buffer) => void;
    this.#finish = socket.listeners('end').at(-1) as () => void;
    socket.removeListener('data', this.#parse);
    socket.removeListener('end', this.#finish);
    // A listener for `data` also makes Node read through JavaScript: otherwise its parser reads the socket directly. The listener gets the
    // bytes that were read before the shared buffer is set. With TLS, or in a version of Node without such a buffer, it gets all bytes.
    socket.on('data', (bytes) => this.#receive(bytes));
    if (!(socket instanceof TLSSocket)) readIntoSharedBuffer(socket, (bytes) => this.#receive(bytes));
    socket.on('end', () => {
      this.#isEnded = true;
      if (this.#waiting.length === 0 && this.#isOpen) this.#finish();
    });
    socket.on('drain', () => this.#scheduleNext());
    socket.on('close', () => this.drop());
  }

  /** Called when a request starts. */
  enter(): void {
    this.#activeRequests += 1;
    this.#startedRequests += 1;
  }

  /** Called when the response of a request is sent, or its connection is closed. */
  leave(): void {
    this.#activeRequests -= 1;
    this.#scheduleNext();
  }

  /** Drops waiting input and ignores further input. */
  drop(): void {
    this.#isDropped = true;
    for (const bytes of this.#waiting.splice(0)) this.#waitingBytes.remove(this, bytes.buffer.byteLength);
  }

  /** Closes the connection, also if it has active requests. */
  end(): void {
    this.drop();
    this.#socket.destroy();
  }

  /** Starts at most one waiting request. Resumes reading when no input is waiting. */
  proceed(): void {
    const startedBefore = this.#startedRequests;
    for (let chunk = 0; chunk < CHUNKS_MAX && this.#startedRequests === startedBefore && this.#waiting.length > 0; chunk += 1) {
      if (!this.#isOpen || this.#startableRequests === 0) return;
      const bytes = this.#waiting[0]!;
      const end = endOfHeads(bytes, 1);
      if (end < bytes.length) this.#waiting[0] = bytes.subarray(end);
      else {
        this.#waiting.shift();
        this.#waitingBytes.remove(this, bytes.buffer.byteLength);
      }
      this.#parse(bytes.subarray(0, end));
    }
    if (this.#waiting.length > 0) this.#scheduleNext();
    else if (!this.#isOpen) return;
    else if (this.#isEnded) this.#finish();
    else if (this.#socket._paused !== true) this.#socket.resume();
  }

  #receive(bytes: Buffer): void {
    if (!this.#isOpen) return;
    const end = this.#waiting.length > 0 || this.#startableRequests === 0 ? 0 : endOfHeads(bytes, this.#startableRequests);
    if (end > 0) this.#parse(end < bytes.length ? bytes.subarray(0, end) : bytes);
    if (end === bytes.length || !this.#isOpen) return;
    const remainder = Buffer.allocUnsafeSlow(bytes.length - end); // The buffer is reused by the next read.
    bytes.copy(remainder, 0, end);
    this.#waiting.push(remainder);
    this.#socket.pause();
    this.#waitingBytes.add(this, remainder.byteLength);
    this.#scheduleNext();
  }

  /** The number of requests that may start now; 0 while Node itself has paused the socket because of its unsent output. */
  get #startableRequests(): number {
    if (this.#socket._paused === true || this.#socket.writableLength > UNSENT_BYTES_MAX) return 0;
    return Math.max(0, ACTIVE_REQUESTS_MAX - this.#activeRequests);
  }

  /** Whether Node's parser accepts input. After CONNECT or an error it does not. */
  get #isOpen(): boolean {
    return !this.#isDropped && !this.#socket.destroyed && (this.#socket.parser ?? null) !== null;
  }

  #scheduleNext(): void {
    if (this.#waiting.length > 0 && this.#isOpen && this.#startableRequests > 0) this.#turns.add(this);
  }
}

/**
 * The connections with waiting requests. They start one request each, in turn. After TURN_MS, the other connections wait for the next
 * iteration of the event loop.
 */
class Turns {
  #next = new Set<PacedInput>();
  #isScheduled = false;

  add(input: PacedInput): void {
    this.#next.add(input);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const untilMs = performance.now() + TURN_MS;
    for (const input of [...this.#next]) {
      this.#next.delete(input);
      input.proceed();
      if (performance.now() >= untilMs) break;
    }
    if (this.#next.size > 0) this.#schedule();
  }
}

/** The index after the first `count` occurrences of END_OF_HEAD, or the length of the bytes if they contain fewer. */
function endOfHeads(bytes: Buffer, count: number): number {
  let end = 0;
  for (let headCount = 0; headCount < count; headCount += 1) {
    const at = bytes.indexOf(END_OF_HEAD, end);
    if (at === -1) return bytes.length;
    end = at + END_OF_HEAD.length;
  }
  return end;
}
