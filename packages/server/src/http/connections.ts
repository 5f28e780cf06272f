import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { unavailable } from '../errors/api-error.ts';
import { answerOnSocket } from './error-reply.ts';

/** What bounds the connections of a server. */
export interface ConnectionLimits {
  /** Connections in all. */
  connectionsMax: number;
  /** Connections from one address; undefined for no such bound. */
  perAddressMax: number | undefined;
  /** Time after which a connection is ended whose peer takes nothing of what waits for it. */
  sendTimeoutMs: number;
}

/** Refused connections that may wait for their peer to read why; more are closed at once. */
const REFUSED_MAX = 256;

/** What Node keeps of a socket for itself: how much the operating system has taken. */
type WithHandle = Socket & { _handle?: { bytesWritten?: number; writeQueueSize?: number } | null };

/** How far the peer of a connection had read, and since when it has not read on. */
interface Progress {
  taken: number;
  since: number;
}

/** The open connections of a server: bounded in all and by address, and ended when their peer does not read. */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Set<Socket>();
  readonly #byAddress = new Map<string, number>();
  readonly #unsent = new Map<WithHandle, Progress>();
  #lingering = 0;
  /** Connections refused since the start. */
  refused = 0;
  /** Connections ended since the start because their peer took nothing. */
  stalled = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#open.size;
  }

  /** Takes care of a server's connections; `isTls` when it speaks TLS, in which a refusal cannot be said before the handshake. */
  watch(server: Server, isTls: boolean): void {
    const accept = server.listeners('connection')[0] as (this: Server, socket: Socket) => void;
    server.removeListener('connection', accept);
    server.prependListener('connection', (socket) => {
      if (this.#admit(socket)) accept.call(server, socket);
      else this.#refuse(socket, isTls);
    });
    const sweep = setInterval(() => this.#endStalled(), Math.max(20, this.#limits.sendTimeoutMs / 6)).unref();
    server.once('close', () => clearInterval(sweep));
  }

  #admit(socket: Socket): boolean {
    const { connectionsMax, perAddressMax } = this.#limits;
    const address = socket.remoteAddress ?? '';
    const ofAddress = this.#byAddress.get(address) ?? 0;
    if (this.#open.size >= connectionsMax || (perAddressMax !== undefined && ofAddress >= perAddressMax)) return false;
    this.#open.add(socket);
    this.#byAddress.set(address, ofAddress + 1);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#unsent.delete(socket);
      const left = this.#byAddress.get(address)! - 1;
      if (left > 0) this.#byAddress.set(address, left);
      else this.#byAddress.delete(address);
    });
    return true;
  }

  #refuse(socket: Socket, isTls: boolean): void {
    this.refused += 1;
    if (isTls || this.#lingering >= REFUSED_MAX) {
      socket.destroy();
      return;
    }
    this.#lingering += 1;
    socket.once('close', () => {
      this.#lingering -= 1;
    });
    socket.on('error', () => undefined);
    socket.resume(); // what it sends is not looked at: closing before it is read would lose the answer
    answerOnSocket(socket, unavailable('too many connections'));
  }

  /** Ends the connections whose output has stood still for too long. */
  #endStalled(): void {
    const now = performance.now();
    for (const socket of this.#open as ReadonlySet<WithHandle>) {
      // Where Node keeps no such count, its own buffer shows progress by whole writes.
      const queued = socket._handle?.writeQueueSize ?? socket.writableLength;
      if (queued === 0) {
        this.#unsent.delete(socket);
        continue;
      }
      const taken = (socket._handle?.bytesWritten ?? socket.bytesWritten) - queued;
      const before = this.#unsent.get(socket);
      if (before?.taken !== taken) this.#unsent.set(socket, { taken, since: now });
      else if (now - before.since >= this.#limits.sendTimeoutMs) {
        this.stalled += 1;
        socket.destroy();
      }
    }
  }
}
