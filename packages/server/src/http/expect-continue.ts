import type { IncomingMessage, Server } from 'node:http';

/** The function that sends `100 Continue`, for each request that expects it. */
const expecting = new WeakMap<IncomingMessage, () => void>();

/**
 * Makes a server send `100 Continue` (RFC 9110, section 10.1.1) only when `sendContinue` is called. So a request can be rejected before its
 * body is sent. By default, Node sends `100 Continue` at once. After a response without `100 Continue`, Node closes the connection, because
 * the sender may or may not send the body.
 */
export function deferContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    expecting.set(request, () => response.writeContinue());
    server.emit('request', request, response);
  });
}

/** Sends `100 Continue` if the sender expects it and has not received it yet. */
export function sendContinue(request: IncomingMessage): void {
  expecting.get(request)?.();
  expecting.delete(request);
}
