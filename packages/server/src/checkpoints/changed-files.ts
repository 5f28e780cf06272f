import { stat } from 'node:fs/promises';

/** `hasChanged` checks a file at most once in this time. */
const CHECK_INTERVAL_MS = 1_000;

/** The longest wait for the result of a check. A network file system may never respond. */
const CHECK_MS_MAX = 1_000;

/** If a check takes longer, no further check is queued until it ends. */
const HANGING_MS = 500;

/** The number of concurrent checks. A file system that hangs blocks this many of the four threads of Node.js. */
const LANES = 2;

/** The largest number of files whose last check is remembered. Above it, all remembered checks are dropped, so the files are read again. */
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
  /** The stamp of the file at the last read; undefined if the file was not read. */
  stamp: string | undefined;
  /** When it was last checked or read, by the monotonic clock. */
  checkedAtMs: number;
  /** Whether a check is running, or is waiting for other checks. */
  isChecking: boolean;
  /** Whether a check found another stamp after CHECK_MS_MAX, when its caller no longer waited for the result. */
  hasLateChange: boolean;
}

/** Checks that run one after the other. */
interface Lane {
  last: Promise<void>;
  /** When the running check was started, by the monotonic clock; Infinity if none runs. */
  startedAtMs: number;
}

/** Detects cheaply whether a file was replaced after this process read it. */
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
    const checkedAtMs = stamp === undefined ? -Infinity : performance.now();
    const file = { stamp, checkedAtMs, isChecking: false, hasLateChange: false };
    if (this.#files.size >= FILES_MAX) this.#files.clear();
    this.#files.set(path, file);
    return file;
  }

  /** Makes the next call of `hasChanged` check a file at once, and return true. */
  forget(path: string): void {
    this.#files.delete(path);
  }

  /**
   * Whether a file was replaced, created or removed since `read`. Checks at most once a second, and returns false in between. Also
   * returns false if the file system fails, or does not respond in time. If a late check finds a change, the next call returns true.
   */
  hasChanged(path: string): boolean | Promise<boolean> {
    const file = this.#files.get(path) ?? this.#remember(path, undefined);
    const now = performance.now();
    if (file.hasLateChange) {
      Object.assign(file, { hasLateChange: false, checkedAtMs: now });
      return true;
    }
    const isRecent = file.isChecking || now - file.checkedAtMs < CHECK_INTERVAL_MS;
    if (isRecent || this.#lanes.some(({ startedAtMs }) => now - startedAtMs > HANGING_MS)) return false;
    Object.assign(file, { isChecking: true, checkedAtMs: now });
    return this.#check(path, file);
  }

  #check(path: string, file: KnownFile): Promise<boolean> {
    const lane = this.#lanes[this.#nextLane++ % LANES]!;
    return new Promise((resolve) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        resolve(false);
      }, CHECK_MS_MAX).unref();
      const end = (isChanged: boolean) => {
        clearTimeout(timer);
        lane.startedAtMs = Infinity;
        Object.assign(file, { isChecking: false, hasLateChange: isLate && isChanged });
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
