import { connect, createServer, isIP, type Socket } from 'node:net';

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1)$/;

/** Throws unless the host is a loopback address. Names are refused too, because they can resolve to another address later. */
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

/** A port that is free now. */
export async function freePort(host: string): Promise<number> {
  requireLoopback(host);
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
