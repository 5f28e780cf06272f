import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../config/config.ts';
import { ExitError } from '../errors/exit-codes.ts';

const PORT = 'COUNTERSIGN_PORT';

/** Where a server listens, and the variable that sets its port (by default COUNTERSIGN_PORT). */
interface Address extends Pick<Config, 'host' | 'port'> {
  variable?: string;
}

/**
 * Listens on the address for a moment, so that an unusable address is reported before a database is created or started. Another process may
 * still take the port before the server listens. Then the server fails to start with the same error.
 * @throws ExitError if the port is in use or not permitted, or if the host is not an address of this machine.
 */
export async function checkAddress(address: Address): Promise<void> {
  const { host, port } = address;
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (error) {
    throw listenFailure(error, address);
  }
  server.close();
  await once(server, 'close');
}

/** Returns the ExitError for an address that cannot be used. Returns an error without a code unchanged. */
export function listenFailure(error: unknown, { host, port, variable = PORT }: Address): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case undefined:
      return error;
    case 'EADDRINUSE':
      return new ExitError('port_in_use', `port ${port} on ${host} is in use; stop the program that uses it, or set ${variable}`);
    case 'EACCES':
      return new ExitError('port_in_use', `this user may not listen on port ${port}; set ${variable}`);
    default: // For example EADDRNOTAVAIL, ENOTFOUND, EINVAL for a link-local address without a zone, and EAFNOSUPPORT without IPv6.
      return new ExitError('bad_configuration', notAnAddress(host, variable));
  }
}

/** The message about an unusable host. COUNTERSIGN_HOST applies only to COUNTERSIGN_PORT. The host of other ports cannot be configured. */
const notAnAddress = (host: string, variable: string): string =>
  variable === PORT
    ? `COUNTERSIGN_HOST ${host} is not an address of this machine`
    : `${host} is not an address of this machine, so the port of ${variable} cannot be used`;
