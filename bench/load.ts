import { connect, type Socket } from 'node:net';

/** What is sent: whole HTTP requests as bytes, with the places of an id that is overwritten before each one is sent. */
export interface Shot {
  request: Buffer;
  idAt: readonly number[];
}

/** Stands in a body where each request has an id of its own; as wide as one. */
export const ID = '@@@@@@@@@@@@';

/** A POST ready to be sent again and again. */
export function shot(path: string, key: string, body: string | Buffer, mediaType = 'application/json'): Shot {
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: ${mediaType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), Buffer.from(body)]);
  const idAt: number[] = [];
  for (let at = request.indexOf(ID); at >= 0; at = request.indexOf(ID, at + ID.length)) idAt.push(at);
  return { request, idAt };
}

/** A GET. */
export const getting = (path: string, key: string): Shot => ({
  request: Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`),
  idAt: [],
});

/** Requests fired for a while from a number of connections, each sending the next as soon as the last is answered. */
export interface Load {
  port: number;
  connections: number;
  seconds: number;
  /** Sent in turn. */
  shots: readonly Shot[];
}

/** What came back within the time. */
export interface Fired {
  perSecond: number;
  /** Milliseconds, in the order of the answers. */
  latencies: number[];
}

let lastId = 0;
const NOTHING = Buffer.alloc(0);

/** Fires; throws when an answer is anything but 200, because a rate of refusals is not a rate. */
export async function fire({ port, connections, seconds, shots }: Load): Promise<Fired> {
  const guns = await Promise.all(Array.from({ length: connections }, (_, index) => Gun.connected(port, shots, index)));
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  try {
    await Promise.all(guns.map((gun) => gun.fireUntil(endsAt)));
  } finally {
    for (const gun of guns) gun.close();
  }
  const latencies = guns.flatMap((gun) => gun.latencies);
  return { perSecond: latencies.length / seconds, latencies };
}

/** Sends one request after the other and tells the answers. */
export async function tell(port: number, shots: readonly Shot[]): Promise<string[]> {
  const gun = await Gun.connected(port, shots, 0);
  const answers: string[] = [];
  for (const _ of shots) answers.push(await gun.once());
  gun.close();
  return answers;
}

/**
 * One keep-alive connection with its own copy of the requests. Reads of an answer only what it must, status and length:
 * what the client spends is taken from the server, on the same cores.
 */
class Gun {
  readonly latencies: number[] = [];
  readonly #socket: Socket;
  readonly #shots: readonly Shot[];
  #next: number;
  #sentAt = 0;
  #endsAt = 0;
  #unread: Buffer = NOTHING;
  #answered: (body: Buffer) => void = () => undefined;
  #broken: (error: Error) => void = () => undefined;

  static async connected(port: number, shots: readonly Shot[], index: number): Promise<Gun> {
    const gun = new Gun(port, shots, index);
    await new Promise<void>((resolve, reject) => gun.#socket.once('connect', resolve).once('error', reject));
    return gun;
  }

  private constructor(port: number, shots: readonly Shot[], index: number) {
    this.#shots = shots.map(({ request, idAt }) => ({ request: Buffer.from(request), idAt }));
    this.#next = index;
    const callback = (read: number, buffer: Uint8Array) => this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, read));
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer: Buffer.alloc(64 * 1024), callback } });
    this.#socket.on('error', (error) => this.#broken(error));
    this.#socket.on('close', () => this.#broken(new Error('the server closed the connection')));
  }

  /** Sends one, and gives back its answer's body. */
  once(): Promise<string> {
    return new Promise((resolve, reject) => {
      [this.#answered, this.#broken] = [(body) => resolve(body.toString()), reject];
      this.#send();
    });
  }

  /** Sends until the time is over and the last one is answered. Answers past the end do not count. */
  fireUntil(endsAt: number): Promise<void> {
    this.#endsAt = endsAt;
    return new Promise((resolve, reject) => {
      this.#broken = reject;
      this.#answered = () => {
        const now = performance.now();
        if (now >= this.#endsAt) return resolve();
        this.latencies.push(now - this.#sentAt);
        this.#send();
      };
      this.#send();
    });
  }

  close(): void {
    this.#broken = () => undefined;
    this.#socket.destroy();
  }

  #send(): void {
    const { request, idAt } = this.#shots[this.#next++ % this.#shots.length]!;
    if (idAt.length > 0) {
      lastId += 1;
      const id = Buffer.from(String(lastId).padStart(ID.length, '0'), 'latin1');
      for (const at of idAt) request.set(id, at);
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
      this.#unread = Buffer.from(whole); // the read buffer is used again
      return true;
    }
    this.#unread = NOTHING;
    if (head.startsWith('HTTP/1.1 200')) this.#answered(whole.subarray(headEnd + 4));
    else this.#broken(new Error(`the server answered ${whole.toString('utf8', 0, 600)}`));
    return true;
  }
}
