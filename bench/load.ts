import { connect, type Socket } from 'node:net';

/** A complete HTTP request as bytes, and the offsets of its placeholders. Before each send, a new ID overwrites every placeholder. */
export interface LoadRequest {
  request: Buffer;
  idOffsets: readonly number[];
}

/** The placeholder in a body for the ID of a request. It is as long as an ID. */
export const ID_PLACEHOLDER = '@@@@@@@@@@@@';

/** A POST request that can be sent repeatedly. Each time, every `ID_PLACEHOLDER` in its body is replaced by a new ID. */
export function postRequest(path: string, key: string, body: string | Buffer, mediaType = 'application/json'): LoadRequest {
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: ${mediaType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), Buffer.from(body)]);
  const idOffsets: number[] = [];
  for (let at = request.indexOf(ID_PLACEHOLDER); at >= 0; at = request.indexOf(ID_PLACEHOLDER, at + ID_PLACEHOLDER.length))
    idOffsets.push(at);
  return { request, idOffsets };
}

/** A GET request. */
export const getRequest = (path: string, key: string): LoadRequest => ({
  request: Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`),
  idOffsets: [],
});

/** Load from several connections for some time. Each connection sends its next request when the previous response is complete. */
export interface Load {
  port: number;
  connections: number;
  seconds: number;
  /** The requests. Each connection sends them in turn: the first connection starts at the first request, the second one at the second. */
  loadRequests: readonly LoadRequest[];
}

/** The rate and the latencies of the responses received within the time. */
export interface LoadResult {
  perSecond: number;
  /** In milliseconds: first those of the first connection, then those of the second one, and so on. */
  latencies: number[];
}

let lastId = 0;
const EMPTY = Buffer.alloc(0);

/** Sends the load. Throws if a connection ends, or a response is not 200, because a rate must not include rejections. */
export async function runLoad({ port, connections, seconds, loadRequests }: Load): Promise<LoadResult> {
  const clients = await Promise.all(
    Array.from({ length: connections }, (_, index) => Connection.open(port, loadRequests, index)),
  );
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  try {
    await Promise.all(clients.map((client) => client.sendUntil(endsAt)));
  } finally {
    for (const client of clients) client.close();
  }
  const latencies = clients.flatMap((client) => client.latencies);
  return { perSecond: latencies.length / seconds, latencies };
}

/** Sends each request once, one after another. Throws if the connection ends or a response is not 200. */
export async function sendAll(port: number, loadRequests: readonly LoadRequest[]): Promise<void> {
  const client = await Connection.open(port, loadRequests, 0);
  for (const _ of loadRequests) await client.sendOnce();
  client.close();
}

/**
 * One keep-alive connection with its own copy of the requests. It reads only the status and the length of a response,
 * because client and server share the same cores.
 */
class Connection {
  readonly latencies: number[] = [];
  readonly #socket: Socket;
  readonly #loadRequests: readonly LoadRequest[];
  #next: number;
  #sentAt = 0;
  #endsAt = 0;
  #unread: Buffer = EMPTY;
  #onResponse: () => void = () => undefined;
  #onError: (error: Error) => void = () => undefined;

  static async open(port: number, loadRequests: readonly LoadRequest[], index: number): Promise<Connection> {
    const client = new Connection(port, loadRequests, index);
    await new Promise<void>((resolve, reject) => client.#socket.once('connect', resolve).once('error', reject));
    return client;
  }

  private constructor(port: number, loadRequests: readonly LoadRequest[], index: number) {
    this.#loadRequests = loadRequests.map(({ request, idOffsets }) => ({ request: Buffer.from(request), idOffsets }));
    this.#next = index;
    const callback = (read: number, buffer: Uint8Array) => this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, read));
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer: Buffer.alloc(64 * 1024), callback } });
    this.#socket.on('error', (error) => this.#onError(error));
    this.#socket.on('close', () => this.#onError(new Error('the server closed the connection')));
  }

  /** Sends one request and waits for its response. */
  sendOnce(): Promise<void> {
    return new Promise((resolve, reject) => {
      [this.#onResponse, this.#onError] = [resolve, reject];
      this.#send();
    });
  }

  /** Sends requests until the time is over, then waits for the last response. Responses after the end are not counted. */
  sendUntil(endsAt: number): Promise<void> {
    this.#endsAt = endsAt;
    return new Promise((resolve, reject) => {
      this.#onError = reject;
      this.#onResponse = () => {
        const now = performance.now();
        if (now >= this.#endsAt) return resolve();
        this.latencies.push(now - this.#sentAt);
        this.#send();
      };
      this.#send();
    });
  }

  close(): void {
    this.#onError = () => undefined;
    this.#socket.destroy();
  }

  #send(): void {
    const { request, idOffsets } = this.#loadRequests[this.#next++ % this.#loadRequests.length]!;
    if (idOffsets.length > 0) {
      lastId += 1;
      const id = Buffer.from(String(lastId).padStart(ID_PLACEHOLDER.length, '0'), 'latin1');
      for (const at of idOffsets) request.set(id, at);
    }
    this.#sentAt = performance.now();
    this.#socket.write(request);
  }

  #read(chunk: Buffer): boolean {
    const whole = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    const headEnd = whole.indexOf('\r\n\r\n');
    const head = headEnd < 0 ? '' : whole.toString('latin1', 0, headEnd);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    if (length === undefined || whole.length < headEnd + 4 + Number(length)) {
      this.#unread = Buffer.from(whole); // the read buffer is reused
      return true;
    }
    this.#unread = EMPTY;
    if (head.startsWith('HTTP/1.1 200')) this.#onResponse();
    else this.#onError(new Error(`the server responded ${whole.toString('utf8', 0, 600)}`));
    return true;
  }
}
