import { createServer, type Server, type Socket } from 'node:net';
import { type KeeperMessage, tell } from './lease-messages.ts';

/** How long a keeper waits for its first holder: the process that started it may have been killed. */
const firstHolderMs = 5_000;

/**
 * Who uses the database: one open connection each. The kernel closes the connection of a process that dies, however it dies, so
 * the count is always true.
 */
export class Holders {
  readonly server: Server;
  readonly #holding = new Set<Socket>();
  /** All that are connected, those included that have let go and wait to hear that it is over. */
  readonly #connected = new Set<Socket>();
  readonly #unheard: KeeperMessage[] = [];
  /** How it stands: what a newcomer must know. */
  #state: KeeperMessage | undefined;
  #expectsFirst = true;
  #changed: () => void = () => {};

  constructor() {
    this.server = createServer((socket) => this.#join(socket));
    setTimeout(() => {
      this.#expectsFirst = false;
      this.#changed();
    }, firstHolderMs).unref();
  }

  /** Nobody uses the database, and nobody is about to. */
  get gone(): boolean {
    return this.#holding.size === 0 && !this.#expectsFirst;
  }

  /** Resolves when the last one has let go. */
  async allGone(): Promise<void> {
    while (!this.gone) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** Tells a line to everybody, or, when nobody is there yet, to the first who comes. */
  say(line: string): void {
    const message = { kind: 'say', line } as const;
    if (this.#connected.size === 0) this.#unheard.push(message);
    for (const socket of this.#connected) tell(socket, message);
  }

  /** Tells everybody, and everybody who comes later, how it stands; undefined: it is not decided yet. */
  announce(state: KeeperMessage | undefined): void {
    this.#state = state;
    if (state === undefined) return;
    for (const socket of this.#connected) tell(socket, state);
  }

  /** Tells only those who come later that there is no database now; those who hold a lease keep it until it is back. */
  refuseNewcomers(state: KeeperMessage): void {
    this.#state = state;
  }

  /** Lets those go who wait for the stop. */
  dismissReleased(): void {
    for (const socket of this.#connected) if (!this.#holding.has(socket)) socket.end();
  }

  /** Ends everything, in this very tick: whoever connects from now on finds nobody, and starts a keeper of its own. */
  close(): void {
    this.server.close();
    for (const socket of this.#connected) socket.end();
  }

  #join(socket: Socket): void {
    this.#expectsFirst = false;
    this.#connected.add(socket);
    this.#holding.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => this.#release(socket));
    socket.on('close', () => {
      this.#connected.delete(socket);
      this.#release(socket);
    });
    for (const message of this.#unheard.splice(0)) tell(socket, message);
    if (this.#state !== undefined) tell(socket, this.#state);
    this.#changed();
  }

  #release(socket: Socket): void {
    this.#holding.delete(socket);
    // While others hold the database there is nothing to wait for.
    if (this.#holding.size > 0) socket.end();
    this.#changed();
  }
}
