import { randomInt } from 'node:crypto';
import { connect, createServer, isIP, type Socket } from 'node:net';

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1)$/;

/** Throws if the host is not a loopback address. Names are rejected too, because they can resolve to another address later. */
export function requireLoopback(host: string): void {
  if (isIP(host) !== 0 && LOOPBACK.test(host)) return;
  throw new Error(`only a loopback address such as 127.0.0.1 can be attacked, not ${JSON.stringify(host)}`);
}

/** The address on which a server listens. */
export interface Address {
  host: string;
  port: number;
}

/** Opens a connection to a server on loopback. All attacks connect with this function. Connection errors are expected and ignored. */
export function openSocket({ host, port }: Address): Socket {
  requireLoopback(host);
  const socket = connect({ host, port, noDelay: true, allowHalfOpen: true });
  socket.on('error', () => undefined);
  return socket;
}

/**
 * By default, Linux and macOS use higher ports for outgoing connections. So no such connection takes one of these ports before a server
 * listens.
 */
const PORTS = { first: 20_000, count: 12_000 };

/** A random port that is free now. Throws if the host is not a loopback address, or if listening fails on 20 random ports. */
export async function freePort(host: string): Promise<number> {
  requireLoopback(host);
  for (let tries = 1; ; tries += 1) {
    const port = PORTS.first + randomInt(PORTS.count);
    const fault = await listenOnce({ host, port });
    if (fault === undefined) return port;
    if (tries === 20) throw fault;
  }
}

/** Listens for a moment. Returns the error if listening fails. */
async function listenOnce({ host, port }: Address): Promise<Error | undefined> {
  const server = createServer();
  const fault = await new Promise<Error | undefined>((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => resolve(undefined));
  });
  if (fault === undefined) await new Promise((resolve) => server.close(resolve));
  return fault;
}
