import { statfs } from 'node:fs/promises';
import { maxWalBytes } from '@countersign/embedded-database';
import { ApiError } from '../errors/api-error.ts';

/** The space of a file system in bytes. `free` is the space that users other than root can still use. */
export interface Space {
  readonly free: number;
  readonly total: number;
}

/** Reads the space of the file system that contains a folder. */
export const readSpace = async (folder: string): Promise<Space> => {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { free: bavail * bsize, total: blocks * bsize };
};

/** How often free space is read. */
const POLL_MS = 1_000;

/** New records are accepted again at this multiple of the floor, so that the state does not switch back and forth. */
const RECOVERY_FACTOR = 1.25;

/** The maximum of the default floor, as a share of the disk. It applies to small disks. */
const FLOOR_SHARE_MAX = 1 / 5;

/** The `Retry-After` of a rejection, in seconds. */
const RETRY_AFTER_SECONDS = '10';

/**
 * The default floor in bytes: the space that the write-ahead log and the request bodies in memory may need, at most a fifth of the disk.
 * @param total the size of the disk in bytes.
 */
export const defaultFloor = (total: number, bodiesBytesMax: number): number =>
  Math.floor(Math.min(maxWalBytes(total) + bodiesBytesMax, total * FLOOR_SHARE_MAX));

/**
 * Watches the disk of the embedded database. PostgreSQL stops if its write-ahead log cannot grow, so below the floor the server rejects new
 * records. The remaining space is reserved for operations with `usesReserve`, for example promotion checks, revocations and sign-in.
 */
export class FreeSpace {
  /** Whether new records are rejected now. Requests read this, and not the file system. */
  isLow = false;
  freeBytes = 0;
  floorBytes = 0;
  readonly #probe: () => Promise<Space>;
  readonly #floorOf: (total: number) => number;
  readonly #onChange: (space: FreeSpace) => void;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;

  /**
   * @param floorOf computes the floor from the size of the disk.
   * @param onChange is called when `isLow` changes.
   */
  constructor(parts: {
    probe: () => Promise<Space>;
    floorOf: (total: number) => number;
    onChange: (space: FreeSpace) => void;
  }) {
    this.#probe = parts.probe;
    this.#floorOf = parts.floorOf;
    this.#onChange = parts.onChange;
  }

  /** Reads the file system at once, and then every second. */
  async start(): Promise<void> {
    await this.read();
    this.#timer = setInterval(() => void this.read(), POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Reads the file system. If that fails, the state does not change. */
  async read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const { free, total } = await this.#probe();
      this.freeBytes = free;
      this.floorBytes = this.#floorOf(total);
      const isLow = free < this.floorBytes * (this.isLow ? RECOVERY_FACTOR : 1);
      if (isLow === this.isLow) return;
      this.isLow = isLow;
      this.#onChange(this);
    } catch {
      // The database's own errors report the fault of the disk.
    } finally {
      this.#isReading = false;
    }
  }

  /**
   * Rejects a request while space is low. Call this for each request that changes data, unless its operation or route has `usesReserve`.
   * @throws ApiError `unavailable` while space is low.
   */
  requireSpace(): void {
    if (!this.isLow) return;
    const error = new ApiError('unavailable', [{ path: '', code: 'disk_space', message: LOW_SPACE_MESSAGE }], {
      'Retry-After': RETRY_AFTER_SECONDS,
    });
    error.cause = this.summary;
    throw error;
  }

  /** The cause of a rejection, for the log, and a line for `/readyz`. */
  get summary(): string {
    return `${this.freeBytes} bytes are free on the disk of the database; the floor is ${this.floorBytes}`;
  }
}

const LOW_SPACE_MESSAGE =
  "the disk of the service's database is nearly full: new records are rejected; promotion checks and revocations still work. Free space on that disk";
