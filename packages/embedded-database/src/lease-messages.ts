import type { Socket } from 'node:net';
import type { EmbeddedDatabaseErrorCode } from './embedded-database-error.ts';

/** What the keeper tells whoever holds a lease; one JSON object a line. */
export type KeeperMessage =
  | { readonly kind: 'say'; readonly line: string }
  | { readonly kind: 'ready'; readonly host: string; readonly port: number }
  | { readonly kind: 'failed'; readonly code: EmbeddedDatabaseErrorCode; readonly message: string };

/** The only thing a holder ever tells the keeper; a holder that dies says it by dying. */
export const releaseLine = 'release\n';

/** What a keeper process is told when it is started. */
export interface KeeperOrders {
  readonly dataDir: string;
  /** The user PostgreSQL runs as. */
  readonly account: { readonly name: string; readonly uid: number; readonly gid: number };
  /** Extra settings for PostgreSQL. */
  readonly settings: Readonly<Record<string, string>>;
  /** False: the database must be there already. */
  readonly mayCreate: boolean;
}

/** Sends one message; a holder that has just gone is no error. */
export function tell(socket: Socket, message: KeeperMessage): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

/** Calls `hear` with each message that arrives. */
export function hearKeeper(socket: Socket, hear: (message: KeeperMessage) => void): void {
  let pending = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (pending + text).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) hear(JSON.parse(line) as KeeperMessage);
  });
}
