import { connect, createServer, type Server, type Socket } from 'node:net';
import { type Address, requireLoopback } from '../attack/loopback.ts';

/** A TCP proxy on loopback. Forwards each connection to the next reachable server. If no server is reachable, closes the connection. */
export class RoundRobinProxy implements Address {
  readonly host: string;
  readonly #servers: readonly Address[];
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();
  #next = 0;

  private constructor(host: string, servers: readonly Address[]) {
    this.host = host;
    this.#servers = servers;
    this.#listener = createServer((client) => this.#forward(client, this.#servers.length));
  }

  /** Listens on a free port of the host. Throws if the host or a server is not a loopback address. */
  static async start(host: string, servers: readonly Address[]): Promise<RoundRobinProxy> {
    for (const address of [host, ...servers.map((server) => server.host)]) requireLoopback(address);
    const proxy = new RoundRobinProxy(host, servers);
    await new Promise<void>((resolve, reject) => proxy.#listener.once('error', reject).listen(0, host, resolve));
    return proxy;
  }

  get port(): number {
    return (this.#listener.address() as { port: number }).port;
  }

  /** Stops listening and closes all connections. */
  close(): void {
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** @param triesLeft the number of servers that were not tried yet. */
  #forward(client: Socket, triesLeft: number): void {
    this.#track(client);
    if (triesLeft === 0 || client.destroyed) {
      client.destroy();
      return;
    }
    const server = connect({ ...this.#servers[this.#next++ % this.#servers.length]!, noDelay: true });
    const tryNext = () => this.#forward(client, triesLeft - 1);
    server.once('error', tryNext).once('connect', () => {
      server.removeListener('error', tryNext);
      this.#track(server);
      client.setNoDelay(true);
      client.pipe(server).pipe(client);
      client.once('close', () => server.destroy());
      server.once('close', () => client.destroy());
    });
  }

  /** Ignores errors of a connection, and remembers the connection until it is closed. */
  #track(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket));
  }
}
