import { stat } from 'node:fs/promises';

/** `hasChanged` looks at a file at most once in this time. */
const LOOK_AGAIN_MS = 1_000;

/** The longest wait for the result of a look. A network file system may never respond. */
const LOOK_MS_MAX = 1_000;

/** If a look takes longer, no other look starts until it ends. */
const HANGING_MS = 500;

/** The number of concurrent looks. A file system that hangs blocks this many of the four threads of Node.js. */
const LANES = 2;

/** The largest number of files whose last look is remembered. Above it, all remembered looks are dropped, so the files are read again. */
const FILES_MAX = 100_000;

/** Returns a text that differs after the file was replaced; empty if there is no file. */
async function stampOf(path: string): Promise<string> {
  try {
    const { ino, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${mtimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** What is known of a file. */
interface KnownFile {
  /** Its stamp when it was last read; undefined if it was not read. */
  stamp: string | undefined;
  /** When it was last looked at or read, by the monotonic clock. */
  lookedAtMs: number;
  /** Whether a look is running, or is waiting for other looks. */
  isLooking: boolean;
  /** Whether a look has found another stamp after its caller had stopped waiting for it. */
  isFoundLate: boolean;
}

/** Looks that run one after the other. */
interface Lane {
  last: Promise<void>;
  /** When the running look was started, by the monotonic clock; Infinity if none runs. */
  startedAtMs: number;
}

/** Finds out cheaply whether files that this process has read were replaced since then. */
export class ChangedFiles {
  readonly #files = new Map<string, KnownFile>();
  readonly #lanes = Array.from({ length: LANES }, (): Lane => ({ last: Promise.resolve(), startedAtMs: Infinity }));
  #nextLane = 0;
  readonly #stampOf: (path: string) => Promise<string>;

  /** @param readStamp returns a text that differs after a file was replaced. */
  constructor(readStamp = stampOf) {
    this.#stampOf = readStamp;
  }

  /** Reads a file, and remembers its stamp. The stamp is read first: if the file is replaced meanwhile, it counts as changed. */
  async read<T>(path: string, read: () => Promise<T>): Promise<T> {
    const stamp = await this.#stampOf(path);
    const content = await read();
    this.#remember(path, stamp);
    return content;
  }

  #remember(path: string, stamp: string | undefined): KnownFile {
    const lookedAtMs = stamp === undefined ? -Infinity : performance.now();
    const file = { stamp, lookedAtMs, isLooking: false, isFoundLate: false };
    if (this.#files.size >= FILES_MAX) this.#files.clear();
    this.#files.set(path, file);
    return file;
  }

  /** Makes the next call of `hasChanged` look at a file at once, and return true. */
  forget(path: string): void {
    this.#files.delete(path);
  }

  /**
   * Whether a file was replaced, created or removed since `read`. Looks at most once a second, and returns false in between. Also returns
   * false if the file system fails, or does not respond in time. If a look ends too late, a later call returns what it has found.
   */
  hasChanged(path: string): boolean | Promise<boolean> {
    const file = this.#files.get(path) ?? this.#remember(path, undefined);
    const now = performance.now();
    if (file.isFoundLate) {
      Object.assign(file, { isFoundLate: false, lookedAtMs: now });
      return true;
    }
    const isRecent = file.isLooking || now - file.lookedAtMs < LOOK_AGAIN_MS;
    if (isRecent || this.#lanes.some(({ startedAtMs }) => now - startedAtMs > HANGING_MS)) return false;
    Object.assign(file, { isLooking: true, lookedAtMs: now });
    return this.#look(path, file);
  }

  #look(path: string, file: KnownFile): Promise<boolean> {
    const lane = this.#lanes[this.#nextLane++ % LANES]!;
    return new Promise((resolve) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        resolve(false);
      }, LOOK_MS_MAX).unref();
      const end = (isChanged: boolean) => {
        clearTimeout(timer);
        lane.startedAtMs = Infinity;
        Object.assign(file, { isLooking: false, isFoundLate: isLate && isChanged });
        resolve(isChanged);
      };
      const start = () => {
        lane.startedAtMs = performance.now();
        return this.#stampOf(path);
      };
      lane.last = lane.last.then(start).then(
        (stamp) => end(stamp !== file.stamp),
        () => end(false),
      );
    });
  }
}
