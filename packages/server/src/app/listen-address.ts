import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../config/config.ts';
import { ExitError } from '../errors/exit-codes.ts';

/** Where a server listens, and the variable that says so. */
interface Address extends Pick<Config, 'host' | 'port'> {
  variable?: string;
}

/**
 * Listens for a moment where the server will: whoever cannot is told before a database is made or started for nothing.
 * Throws an ExitError. Another process may still take the port between this and the server's own listening, which fails the same way.
 */
export async function checkAddress(address: Address): Promise<void> {
  const { host, port } = address;
  const trial = createServer();
  try {
    trial.listen({ host, port });
    await once(trial, 'listening');
  } catch (error) {
    throw listenFailure(error, address);
  }
  trial.close();
  await once(trial, 'close');
}

/** Why an address cannot be listened on, in one line with its exit code; any other error comes back as it is. */
export function listenFailure(error: unknown, { host, port, variable = 'COUNTERSIGN_PORT' }: Address): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new ExitError('port_in_use', `port ${port} on ${host} is in use; stop what listens there, or set ${variable}`);
    case 'EACCES':
      return new ExitError('port_in_use', `port ${port} may not be listened on by this user; set ${variable}`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ExitError('bad_configuration', `COUNTERSIGN_HOST ${host} is no address of this machine`);
    default:
      return error;
  }
}
