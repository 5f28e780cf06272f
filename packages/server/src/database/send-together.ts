import type { Socket } from 'node:net';
import type { PoolClient } from 'pg';

const held = new WeakSet<Socket>();

/**
 * Holds back what is sent to a connection until all that runs now has run, so that the statements of a pipeline leave in one
 * write: every write of its own wakes PostgreSQL for one statement alone, and on a busy machine takes the processor from us.
 */
export function sendTogether(client: PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  if (held.has(stream)) return;
  held.add(stream);
  stream.cork();
  process.nextTick(() => {
    held.delete(stream);
    stream.uncork();
  });
}
