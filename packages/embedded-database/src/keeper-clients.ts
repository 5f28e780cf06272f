import { createServer, type Server, type Socket } from 'node:net';
import { type KeeperMessage, sendMessage } from './lease-messages.ts';

/** How long a keeper waits for its first client. The process that started the keeper may have been killed. */
const firstClientTimeoutMs = 5_000;

/**
 * The clients of a keeper: one open connection for each lease. The kernel closes the connections of a process that dies, so the number of
 * leases is always right.
 */
export class KeeperClients {
  readonly server: Server;
  readonly #leases = new Set<Socket>();
  /** Every open connection, including those of clients that have released their lease and wait until PostgreSQL has stopped. */
  readonly #connections = new Set<Socket>();
  readonly #undeliveredMessages: KeeperMessage[] = [];
  /** The state that is sent to a new client. */
  #state: KeeperMessage | undefined;
  #awaitsFirstClient = true;
  #onChange: () => void = () => {};

  constructor() {
    this.server = createServer((socket) => this.#addClient(socket));
    setTimeout(() => {
      this.#awaitsFirstClient = false;
      this.#onChange();
    }, firstClientTimeoutMs).unref();
  }

  /** Whether there is no lease. A new keeper does not count as idle while it waits for its first client. */
  get isIdle(): boolean {
    return this.#leases.size === 0 && !this.#awaitsFirstClient;
  }

  /** Resolves when the keeper is idle. */
  async waitUntilIdle(): Promise<void> {
    while (!this.isIdle) {
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  /** Sends a line to every client, or to the next one if none is connected. */
  notify(line: string): void {
    const message = { kind: 'say', line } as const;
    if (this.#connections.size === 0) this.#undeliveredMessages.push(message);
    for (const socket of this.#connections) sendMessage(socket, message);
  }

  /** Sends the state to every client, and later to each new one. If it is undefined, sends nothing: the clients wait for the next state. */
  setState(state: KeeperMessage | undefined): void {
    this.#state = state;
    if (state === undefined) return;
    for (const socket of this.#connections) sendMessage(socket, state);
  }

  /** Sends the state to new clients only. Existing clients do not receive it, so they wait until PostgreSQL is back. */
  setStateOfNewClients(state: KeeperMessage): void {
    this.#state = state;
  }

  /** Closes the connections of clients that wait until PostgreSQL has stopped. */
  closeReleasedConnections(): void {
    for (const socket of this.#connections) if (!this.#leases.has(socket)) socket.end();
  }

  /** Closes the socket and all connections in this tick. A process that connects later finds no keeper and starts its own. */
  close(): void {
    this.server.close();
    for (const socket of this.#connections) socket.end();
  }

  #addClient(socket: Socket): void {
    this.#awaitsFirstClient = false;
    this.#connections.add(socket);
    this.#leases.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => this.#release(socket));
    socket.on('close', () => {
      this.#connections.delete(socket);
      this.#release(socket);
    });
    for (const message of this.#undeliveredMessages.splice(0)) sendMessage(socket, message);
    if (this.#state !== undefined) sendMessage(socket, this.#state);
    this.#onChange();
  }

  #release(socket: Socket): void {
    this.#leases.delete(socket);
    // PostgreSQL keeps running for the other clients, so there is nothing to wait for.
    if (this.#leases.size > 0) socket.end();
    this.#onChange();
  }
}
