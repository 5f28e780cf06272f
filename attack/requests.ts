import { type Address, openSocket } from './loopback.ts';

/** A request as text. */
export const httpText = (method: string, path: string, headers: Readonly<Record<string, string | number>>, body = ''): string => {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
};

/** A POST of JSON by a key. */
export const posting = (path: string, key: string, body: string | Buffer, headers: Record<string, string> = {}): Buffer => {
  const bytes = Buffer.from(body);
  const own = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Content-Length': bytes.length, ...headers };
  return Buffer.concat([Buffer.from(httpText('POST', path, own)), bytes]);
};

/** How a request ended: its status and how long to wait, or 0 when the connection ended without an answer. */
export interface Ending {
  status: number;
  retryAfterSeconds: number;
  /** Of the whole answer. */
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

  /** Sends a request and reads its answer. Never rejects. */
  send(request: Buffer | string, patienceMs = 60_000): Promise<Ending> {
    const begun = performance.now();
    this.#socket ??= openSocket(this.#address);
    const socket = this.#socket;
    return new Promise((resolve) => {
      let head = '';
      let missing: number | undefined;
      let isChunked = false;
      let tail = '';
      let ending: Ending = { status: 0, retryAfterSeconds: 0, ms: 0 };
      const finish = (isOver: boolean) => {
        clearTimeout(patience);
        socket.removeAllListeners('data').removeAllListeners('close').removeAllListeners('end');
        if (isOver) this.close();
        resolve({ ...ending, ms: performance.now() - begun });
      };
      const patience = setTimeout(() => finish(true), patienceMs);
      socket.on('data', (bytes: Buffer) => {
        if (missing === undefined) {
          head += bytes.toString('latin1');
          const end = head.indexOf('\r\n\r\n');
          if (end < 0) return;
          const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
          ending = { ...ending, status, retryAfterSeconds: Number(/\r\nretry-after: (\d+)/i.exec(head)?.[1] ?? 0) };
          isChunked = /\r\ntransfer-encoding: chunked/i.test(head.slice(0, end));
          missing = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Infinity) - (head.length - end - 4);
        } else missing -= bytes.length;
        if (isChunked) tail = (tail + bytes.toString('latin1')).slice(-LAST_CHUNK.length);
        if (missing <= 0 || (isChunked && tail === LAST_CHUNK)) finish(/\r\nconnection: close/i.test(head));
      });
      socket.on('end', () => finish(true)).on('close', () => finish(true));
      socket.write(request);
    });
  }

  /** Ends the connection; the next request opens another one. */
  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }
}

/** Runs the same work again and again from a number of callers until the time is over. */
export async function loop(count: number, seconds: number, work: (caller: number) => Promise<void>): Promise<void> {
  const endsAt = performance.now() + seconds * 1000;
  const one = async (caller: number) => {
    while (performance.now() < endsAt) await work(caller);
  };
  await Promise.all(Array.from({ length: count }, (_, caller) => one(caller)));
}
