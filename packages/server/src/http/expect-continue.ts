import type { IncomingMessage, Server } from 'node:http';

/** How to send `100 Continue` to each request that expects it and has not had it. */
const expecting = new WeakMap<IncomingMessage, () => void>();

/**
 * Lets a request that expects `100 Continue` (RFC 9110, section 10.1.1) be answered before its body is asked for: Node would send it
 * at once. Node closes the connection after an answer without it, because the sender may or may not send the body.
 */
export function deferContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    expecting.set(request, () => response.writeContinue());
    server.emit('request', request, response);
  });
}

/** Asks for the body. Without effect where it was not waited for, or was asked for before. */
export function sendContinue(request: IncomingMessage): void {
  expecting.get(request)?.();
  expecting.delete(request);
}
