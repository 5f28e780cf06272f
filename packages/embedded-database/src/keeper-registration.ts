import { randomBytes } from 'node:crypto';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { keeperFolder } from './data-folder.ts';
import { EmbeddedDatabaseError } from './embedded-database-error.ts';
import { clearSuperseded, connectTo, newestRegistration, type Registration, register } from './keeper-registry.ts';
import { makeSocketFolder, socketFolders } from './socket-folder.ts';

/** The registration of a keeper, and the folder of its socket. */
export interface RegisteredKeeper {
  readonly registration: Registration;
  readonly socketFolder: string;
}

/** Opens the keeper's socket, then registers the keeper. Returns undefined if another keeper is alive or registered first. */
export async function registerKeeper(dataDir: string, server: Server): Promise<RegisteredKeeper | undefined> {
  const keeperDir = keeperFolder(dataDir);
  const newest = newestRegistration(keeperDir);
  const connection = newest === undefined ? undefined : await connectTo(newest);
  if (connection !== undefined) {
    connection.destroy();
    return undefined;
  }
  const { socketPath, socketFolder } = await listen(dataDir, server);
  const registration = register(keeperDir, socketPath, newest);
  if (registration === undefined) {
    server.close();
    return undefined;
  }
  clearSuperseded(keeperDir, socketFolder, registration);
  return { registration, socketFolder };
}

/** Opens the socket in the first possible folder. Throws the last error if no folder works. */
async function listen(dataDir: string, server: Server): Promise<{ socketPath: string; socketFolder: string }> {
  let failure: unknown = new EmbeddedDatabaseError(
    'start_failed',
    'the path of every possible folder for the socket is too long: set TMPDIR to a shorter path',
  );
  for (const socketFolder of socketFolders(dataDir)) {
    try {
      makeSocketFolder(socketFolder);
      const socketPath = join(socketFolder, `keeper-${randomBytes(4).toString('hex')}.sock`);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(socketPath, resolve);
      });
      // If a connection cannot be accepted, the client tries again.
      server.on('error', () => {});
      return { socketPath, socketFolder };
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
