import type { IncomingMessage, Server } from 'node:http';

/** The function that sends `100 Continue`, for each request that expects it. */
const expecting = new WeakMap<IncomingMessage, () => void>();

/**
 * Lets a request that expects `100 Continue` (RFC 9110, section 10.1.1) get its response before its body is requested. Node would send it
 * at once. Node closes the connection after a response without it, because the sender may or may not send the body.
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
