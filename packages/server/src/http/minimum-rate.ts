import type { IncomingMessage } from 'node:http';
import { respondToClientError } from './error-reply.ts';

/** Bodies above this declared length must arrive at the minimum rate. Shorter ones reserve little memory. */
const WATCHED_BYTES_MIN = 64 * 1024;
/** The minimum average rate, and the time after which it is enforced. */
export const BYTES_PER_SECOND_MIN = 16 * 1024;
export const GRACE_PERIOD_MS = 10_000;

const CHECK_INTERVAL_MS = 2_000;

/**
 * Responds 408 if a large body arrives too slowly, because it reserves memory for its whole declared length.
 * @param declaredBytes the declared length before decompression; 0 if it is unknown.
 * @returns a function that ends the check.
 */
export function enforceMinimumRate(request: IncomingMessage, declaredBytes: number): () => void {
  if (declaredBytes <= WATCHED_BYTES_MIN) return () => undefined;
  const { socket } = request;
  const startedAtMs = performance.now();
  const bytesBefore = socket.bytesRead;
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedAtMs;
    // A paused socket is waiting for the server, not for the sender.
    if (elapsedMs < GRACE_PERIOD_MS || request.complete || socket.isPaused()) return;
    if (socket.bytesRead - bytesBefore >= (elapsedMs / 1000) * BYTES_PER_SECOND_MIN) return;
    clearInterval(timer);
    respondToClientError(Object.assign(new Error('the body arrives too slowly'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
  }, CHECK_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
