import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { unavailable } from '../errors/api-error.ts';
import { networkOf } from '../people/client-network.ts';
import { sendOnSocket } from './error-reply.ts';

/** The limits of a server's connections. */
export interface ConnectionLimits {
  /** Connections in total. */
  connectionsMax: number;
  /** Connections from one address, or from one IPv6 network of the size /64; undefined for no limit. */
  perAddressMax: number | undefined;
  /** How long a client may read nothing of its response before its connection is closed. */
  sendTimeoutMs: number;
}

/**
 * The maximum number of rejected connections that stay open for a short time, so that the client can read the reason. Further ones are
 * closed at once.
 */
const LINGERING_MAX = 256;

/** Node's internal counters of a socket: the bytes written to it, and those that the operating system has not accepted yet. */
type SocketWithHandle = Socket & { _handle?: { bytesWritten?: number; writeQueueSize?: number } | null };

/** The output progress of a connection, and when it last changed. */
interface Progress {
  sentBytes: number;
  sinceMs: number;
}

/** The open connections of a server: limited in total and per address, and closed if their client does not read. */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Set<Socket>();
  readonly #byNetwork = new Map<string, number>();
  readonly #unsent = new Map<SocketWithHandle, Progress>();
  #lingering = 0;
  /** Connections rejected since the start. */
  rejectedCount = 0;
  /** Connections closed since the start because their client did not read. */
  stalledCount = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** The number of open connections. */
  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Limits the connections of a server, and closes connections whose client does not read.
   * @param isTls whether the server uses TLS: a rejected connection is then closed without a response.
   */
  watch(server: Server, isTls: boolean): void {
    const accept = server.listeners('connection')[0] as (this: Server, socket: Socket) => void;
    server.removeListener('connection', accept);
    server.prependListener('connection', (socket) => {
      if (this.#admit(socket)) accept.call(server, socket);
      else this.#reject(socket, isTls);
    });
    server.once('listening', () => {
      const sweep = setInterval(() => this.#endStalled(), Math.max(20, this.#limits.sendTimeoutMs / 6)).unref();
      server.once('close', () => clearInterval(sweep));
    });
  }

  #admit(socket: Socket): boolean {
    const { connectionsMax, perAddressMax } = this.#limits;
    const network = networkOf(socket.remoteAddress ?? '');
    const ofNetwork = this.#byNetwork.get(network) ?? 0;
    if (this.#open.size >= connectionsMax || (perAddressMax !== undefined && ofNetwork >= perAddressMax)) return false;
    this.#open.add(socket);
    this.#byNetwork.set(network, ofNetwork + 1);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#unsent.delete(socket);
      const remaining = this.#byNetwork.get(network)! - 1;
      if (remaining > 0) this.#byNetwork.set(network, remaining);
      else this.#byNetwork.delete(network);
    });
    return true;
  }

  #reject(socket: Socket, isTls: boolean): void {
    this.rejectedCount += 1;
    if (isTls || this.#lingering >= LINGERING_MAX) {
      socket.destroy();
      return;
    }
    this.#lingering += 1;
    socket.once('close', () => {
      this.#lingering -= 1;
    });
    socket.on('error', () => undefined);
    socket.resume(); // Its input is discarded, because closing with unread input would lose the response.
    sendOnSocket(socket, unavailable('too many connections'));
  }

  /** Closes connections whose output made no progress for too long. */
  #endStalled(): void {
    const now = performance.now();
    for (const socket of this.#open as ReadonlySet<SocketWithHandle>) {
      // If Node's internal counters are missing, the counters of the socket are used. They show progress only when a whole write is done.
      const queued = socket._handle?.writeQueueSize ?? socket.writableLength;
      if (queued === 0) {
        this.#unsent.delete(socket);
        continue;
      }
      const sentBytes = (socket._handle?.bytesWritten ?? socket.bytesWritten) - queued;
      const before = this.#unsent.get(socket);
      if (before?.sentBytes !== sentBytes) this.#unsent.set(socket, { sentBytes, sinceMs: now });
      else if (now - before.sinceMs >= this.#limits.sendTimeoutMs) {
        this.stalledCount += 1;
        socket.destroy();
      }
    }
  }
}
