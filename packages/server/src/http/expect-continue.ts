import type { IncomingMessage, Server } from 'node:http';

/** For each request that expects `100 Continue`: the function that sends it. */
const continueSenders = new WeakMap<IncomingMessage, () => void>();

/**
 * Makes a server send `100 Continue` (RFC 9110, section 10.1.1) only when `sendContinue` is called. So a request can be rejected before its
 * body is sent. By default, Node sends `100 Continue` at once. After a response without `100 Continue`, Node closes the connection, because
 * the sender may or may not send the body.
 */
export function deferContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    continueSenders.set(request, () => response.writeContinue());
    server.emit('request', request, response);
  });
}

/** Sends `100 Continue` if the sender expects it and has not received it yet. */
export function sendContinue(request: IncomingMessage): void {
  continueSenders.get(request)?.();
  continueSenders.delete(request);
}
