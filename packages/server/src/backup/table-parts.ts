import { createHash } from 'node:crypto';
import type { BackupWriter } from './backup-writer.ts';
import { type BackupPart, partFile } from './manifest.ts';
import { compress } from './zstandard.ts';

/** The largest size of a part before compression, in bytes. A longer row has its own part. */
export const PART_BYTES = 4 * 1024 * 1024;

/** The start of binary COPY data: signature, flags, no extension. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);

/** Divides the rows of one table into parts, and adds the parts to the backup. Each part is complete binary COPY data. */
export class TableParts {
  readonly parts: BackupPart[] = [];
  readonly #table: string;
  readonly #writer: BackupWriter;
  #buffer = Buffer.allocUnsafe(PART_BYTES);
  #length = 0;
  #rows = 0;
  #written: Promise<void> = Promise.resolve();

  constructor(table: string, writer: BackupWriter) {
    this.#table = table;
    this.#writer = writer;
  }

  /** The number of added rows. */
  get rows(): number {
    return this.parts.reduce((sum, part) => sum + part.rows, this.#rows);
  }

  /**
   * Adds the row in one message of COPY. The first message begins with the header, which is skipped. A trailer is ignored: each part gets
   * its own trailer. If the row does not fit into the current part, that part is written, and the returned promise resolves after the
   * write. Otherwise returns undefined.
   */
  add(message: Uint8Array, isFirst: boolean): Promise<void> | undefined {
    const row = isFirst ? message.subarray(HEADER.length) : message;
    if (row.length === 0 || (row.length === 2 && row[0] === 0xff && row[1] === 0xff)) return undefined;
    const free = this.#buffer.length - this.#length - TRAILER.length;
    const writing = this.#rows > 0 && row.length > free ? this.#flush() : undefined;
    if (this.#rows === 0) this.#begin(row.length);
    this.#buffer.set(row, this.#length);
    this.#length += row.length;
    this.#rows += 1;
    return writing;
  }

  #begin(rowBytes: number): void {
    const needed = HEADER.length + rowBytes + TRAILER.length;
    if (needed > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(needed);
    this.#buffer.set(HEADER);
    this.#length = HEADER.length;
  }

  /** Writes the remaining rows. */
  async end(): Promise<void> {
    if (this.#rows > 0) this.#flush();
    await this.#written;
  }

  #flush(): Promise<void> {
    this.#buffer.set(TRAILER, this.#length);
    const raw = this.#buffer.subarray(0, this.#length + TRAILER.length);
    const part = { file: partFile(this.#table, this.parts.length + 1), rows: this.#rows, rawBytes: raw.length };
    const index = this.parts.push({ ...part, bytes: 0, sha256: '' }) - 1;
    this.#buffer = Buffer.allocUnsafe(PART_BYTES);
    this.#rows = 0;
    this.#written = this.#written.then(async () => {
      const content = await compress(raw);
      await this.#writer.add(part.file, content);
      const sha256 = createHash('sha256').update(content).digest('hex');
      this.parts[index] = { ...part, bytes: content.length, sha256 };
    });
    return this.#written;
  }
}
