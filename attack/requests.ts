import { type Address, openSocket } from './loopback.ts';

/** Returns an HTTP request as text. */
export const httpText = (method: string, path: string, headers: Readonly<Record<string, string | number>>, body = ''): string => {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
};

/** Returns a POST of JSON, authenticated by a key. */
export const postRequest = (path: string, key: string, body: string | Buffer, headers: Record<string, string> = {}): Buffer => {
  const bytes = Buffer.from(body);
  const allHeaders = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Content-Length': bytes.length,
    ...headers,
  };
  return Buffer.concat([Buffer.from(httpText('POST', path, allHeaders)), bytes]);
};

/** The result of a request. */
export interface CallResult {
  /** 0 if the connection ended, or the time was up, before the head of a response. */
  status: number;
  /** The value of Retry-After; 0 without this header. */
  retryAfterSeconds: number;
  /** Milliseconds until the response was complete, the connection ended or the time was up. */
  ms: number;
}

const LAST_CHUNK = '\r\n0\r\n\r\n';

/** A keep-alive connection that sends one request at a time. */
export class Caller {
  readonly #address: Address;
  #socket: ReturnType<typeof openSocket> | undefined;

  constructor(address: Address) {
    this.#address = address;
  }

  /** Sends a request and reads its response. Never rejects. */
  send(request: Buffer | string, timeoutMs = 60_000): Promise<CallResult> {
    const startedAt = performance.now();
    // The server may have closed the connection after the last response, when nothing listened to the socket.
    if (this.#socket?.readable === false) this.close();
    this.#socket ??= openSocket(this.#address);
    const socket = this.#socket;
    return new Promise((resolve) => {
      let head = '';
      let bodyBytesLeft: number | undefined;
      let isChunked = false;
      let tail = '';
      let result: CallResult = { status: 0, retryAfterSeconds: 0, ms: 0 };
      const finish = (closesConnection: boolean) => {
        clearTimeout(timeout);
        socket.removeAllListeners('data').removeAllListeners('close').removeAllListeners('end');
        if (closesConnection) this.close();
        resolve({ ...result, ms: performance.now() - startedAt });
      };
      const timeout = setTimeout(() => finish(true), timeoutMs);
      socket.on('data', (bytes: Buffer) => {
        if (bodyBytesLeft === undefined) {
          head += bytes.toString('latin1');
          const end = head.indexOf('\r\n\r\n');
          if (end < 0) return;
          const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
          result = { ...result, status, retryAfterSeconds: Number(/\r\nretry-after: (\d+)/i.exec(head)?.[1] ?? 0) };
          isChunked = /\r\ntransfer-encoding: chunked/i.test(head.slice(0, end));
          bodyBytesLeft = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Infinity) - (head.length - end - 4);
        } else bodyBytesLeft -= bytes.length;
        if (isChunked) tail = (tail + bytes.toString('latin1')).slice(-LAST_CHUNK.length);
        if (bodyBytesLeft <= 0 || (isChunked && tail === LAST_CHUNK)) finish(/\r\nconnection: close/i.test(head));
      });
      socket.on('end', () => finish(true)).on('close', () => finish(true));
      socket.write(request);
    });
  }

  /** Closes the connection. The next request opens a new one. */
  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }
}

/**
 * Repeats the work in concurrent loops until the time is up.
 * @param count the number of loops. The work gets the index of its loop.
 */
export async function runConcurrently(count: number, seconds: number, work: (index: number) => Promise<void>): Promise<void> {
  const endsAt = performance.now() + seconds * 1000;
  const repeat = async (index: number) => {
    while (performance.now() < endsAt) await work(index);
  };
  await Promise.all(Array.from({ length: count }, (_, index) => repeat(index)));
}
