import type { Socket } from 'node:net';
import type { EmbeddedDatabaseErrorCode } from './embedded-database-error.ts';

/** A message from the keeper to a client: one JSON object per line. Never change this format: the keeper may be of another version. */
export type KeeperMessage =
  | { readonly kind: 'say'; readonly line: string }
  | { readonly kind: 'ready'; readonly host: string; readonly port: number }
  | { readonly kind: 'failed'; readonly code: EmbeddedDatabaseErrorCode; readonly message: string };

/** The only message from a client to the keeper. The end of the client's process has the same effect. */
export const releaseLine = 'release\n';

/** The configuration that a keeper process is started with. */
export interface KeeperConfiguration {
  readonly dataDir: string;
  /** The user of the PostgreSQL process. */
  readonly account: { readonly name: string; readonly uid: number; readonly gid: number };
  /** Additional settings for PostgreSQL. */
  readonly settings: Readonly<Record<string, string>>;
  /** false: the keeper fails if there is no database. */
  readonly mayCreate: boolean;
}

/** Sends one message. A client that has just disconnected is not an error. */
export function sendMessage(socket: Socket, message: KeeperMessage): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

/** Calls `handle` with each message that arrives. */
export function onKeeperMessage(socket: Socket, handle: (message: KeeperMessage) => void): void {
  let pending = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (pending + text).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) handle(JSON.parse(line) as KeeperMessage);
  });
}
