import type { IncomingMessage, Server } from 'node:http';

/** The function that sends `100 Continue`, for each request that expects it. */
const expecting = new WeakMap<IncomingMessage, () => void>();

/**
 * Sends `100 Continue` (RFC 9110, section 10.1.1) only when the body is requested, so that a request can be rejected before that. Node
 * would send it at once. After a response without `100 Continue`, Node closes the connection, because the sender may or may not send the
 * body.
 */
export function deferContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    expecting.set(request, () => response.writeContinue());
    server.emit('request', request, response);
  });
}

/** Requests the body. No effect if the sender does not wait for it. */
export function sendContinue(request: IncomingMessage): void {
  expecting.get(request)?.();
  expecting.delete(request);
}
