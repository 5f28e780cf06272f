import { connect } from 'node:net';
import type { TestResponse } from '../harness/test-server.ts';

/** How the client of a raw request ends the connection, and how long it waits. */
export interface RawSendOptions {
  /** Whether the client closes its sending side after the last byte. */
  closesSending?: boolean;
  /** How long the client waits for the server to close the connection. Then it disconnects, and `sendRaw` rejects. */
  timeoutMs?: number;
}

/**
 * Sends bytes unchanged, even if fetch or node:http would refuse them. Returns all responses after the server has closed the connection.
 * @throws if the server does not close the connection in time, if the connection fails before any byte of a response, or if the server
 * sends something other than HTTP.
 */
export async function sendRaw(
  url: string,
  bytes: string | Buffer,
  { closesSending = false, timeoutMs = 5_000 }: RawSendOptions = {},
): Promise<TestResponse[]> {
  const received = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true }, () => {
      if (closesSending) socket.end(bytes);
      else socket.write(bytes);
    });
    const timer = setTimeout(() => {
      reject(new Error(`the server did not close the connection within ${timeoutMs} ms; it sent ${Buffer.concat(chunks)}`));
      socket.destroy();
    }, timeoutMs);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => socket.end());
    socket.on('error', (error) => chunks.length === 0 && reject(error));
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks));
    });
  });
  return parseResponses(received);
}

/** The responses in a stream, in order, without interim responses of status 100. */
export function parseResponses(bytes: Buffer): TestResponse[] {
  const responses: TestResponse[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) throw new Error(`not an HTTP response: ${rest.toString('latin1')}`);
    const [statusLine = '', ...lines] = rest.subarray(0, headEnd).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    const headers = new Headers(lines.map((line): [string, string] => [line.split(':', 1)[0]!, line.replace(/^[^:]*: ?/, '')]));
    const bodyEnd = headEnd + 4 + Number(headers.get('content-length') ?? 0);
    const body = rest.subarray(headEnd + 4, bodyEnd);
    if (status !== 100) responses.push({ status, headers, body: body.length === 0 ? undefined : JSON.parse(body.toString()) });
    rest = rest.subarray(bodyEnd);
  }
  return responses;
}

/** A request as text: request line, headers, empty line, body. */
export const httpText = (requestLine: string, headers: readonly string[], body = ''): string =>
  `${[requestLine, ...headers].join('\r\n')}\r\n\r\n${body}`;
