import type { Client, Connection, Submittable } from 'pg';

/** The parts of the driver's connection that COPY uses and that its types leave out. */
interface CopyConnection extends Connection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
}

/**
 * Receives one message of a COPY: a row (the first one with the header of the format), or the trailer. Returns a promise if it must not
 * receive further messages until that promise settles.
 */
export type RowSink = (row: Uint8Array) => Promise<void> | undefined;

/** Sends bytes to PostgreSQL in chunks of this size, so that the socket's buffer stays small. */
const CHUNK_BYTES = 1024 * 1024;

/** The common part of COPY in both directions: the row count from the command tag, and a promise that settles at the end. */
abstract class Copy implements Submittable {
  readonly done: Promise<number>;
  readonly #text: string;
  #rows = 0;
  #failure: unknown;
  #resolve!: (rows: number) => void;
  #reject!: (error: unknown) => void;

  constructor(text: string) {
    this.#text = text;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: Connection): void {
    (connection as CopyConnection).query(this.#text);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const count = /^COPY (\d+)$/.exec(text)?.[1];
    if (count !== undefined) this.#rows = Number(count);
  }

  handleRowDescription(): void {}

  handleDataRow(): void {}

  handleError(error: unknown): void {
    this.#failure ??= error;
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    if (this.#failure === undefined) this.#resolve(this.#rows);
  }
}

class CopyOut extends Copy {
  readonly #take: RowSink;
  #waiting = 0;

  constructor(text: string, take: RowSink) {
    super(text);
    this.#take = take;
  }

  handleCopyData({ chunk }: { chunk: Uint8Array }, { stream }: Connection): void {
    const ready = this.#take(chunk);
    if (ready === undefined) return;
    this.#waiting += 1;
    stream.pause();
    ready.then(
      () => {
        this.#waiting -= 1;
        if (this.#waiting === 0) stream.resume();
      },
      (error: unknown) => {
        this.handleError(error);
        // The remaining rows are not needed, so the connection is closed.
        stream.destroy();
      },
    );
  }
}

class CopyIn extends Copy {
  readonly #data: Uint8Array;
  #hasFailed = false;

  constructor(text: string, data: Uint8Array) {
    super(text);
    this.#data = data;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#send(connection).catch((error: unknown) => this.handleError(error));
  }

  override handleError(error: unknown): void {
    this.#hasFailed = true;
    super.handleError(error);
  }

  async #send(connection: CopyConnection): Promise<void> {
    const { stream } = connection;
    for (let at = 0; at < this.#data.length && !this.#hasFailed; at += CHUNK_BYTES) {
      connection.sendCopyFromChunk(this.#data.subarray(at, at + CHUNK_BYTES));
      if (stream.writableNeedDrain) await waitForDrain(stream);
    }
    if (!this.#hasFailed) connection.endCopyFrom();
  }
}

/** Resolves when the stream accepts more bytes, or is closed. The driver reports why it was closed. */
function waitForDrain(stream: Connection['stream']): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stream.off('drain', end).off('close', end);
      resolve();
    };
    stream.on('drain', end).on('close', end);
  });
}

/**
 * Runs `COPY ... TO STDOUT`, possibly after other statements in the same text, and passes each message to `take`.
 * @returns the number of rows.
 */
export const copyOut = (client: Client, text: string, take: RowSink): Promise<number> =>
  client.query(new CopyOut(text, take)).done;

/** Runs `COPY ... FROM STDIN` with these bytes. Returns the number of rows. */
export const copyIn = (client: Client, text: string, data: Uint8Array): Promise<number> =>
  client.query(new CopyIn(text, data)).done;
