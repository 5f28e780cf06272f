import { connect, type Socket } from 'node:net';
import { errno } from './embedded-database-error.ts';

/** A connection to a Unix socket, or undefined if no process listens on it. Rejects if the connection fails for another reason. */
export function connectToSocket(socketPath: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', (error) => {
      // Other errors do not mean that the process is dead: a full backlog (EAGAIN) means that it is busy.
      if (['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE'].includes(errno(error) ?? '')) resolve(undefined);
      else reject(error);
    });
  });
}
