import { stat } from 'node:fs/promises';

/** `hasChanged` looks at a file at most once in this time. */
const LOOK_AGAIN_MS = 1_000;

/** The longest wait for a look. A network file system may never respond. */
const LOOK_MS_MAX = 1_000;

/** The largest number of files whose last look is remembered. Above it, all are dropped, so their files are read again. */
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

/** Finds out cheaply whether files that this process has read were replaced since then. */
export class ChangedFiles {
  /** When each file was last looked at, by the monotonic clock, and its stamp when it was last read. */
  readonly #looks = new Map<string, { atMs: number; stamp: string }>();
  /** The last look. The next one waits for it, so that a file system that hangs blocks only one thread. */
  #lastLook: Promise<unknown> = Promise.resolve();
  /** Whether the last look is still running after LOOK_MS_MAX. */
  #isHanging = false;
  readonly #stampOf: (path: string) => Promise<string>;

  /** @param readStamp returns a text that differs after a file was replaced. */
  constructor(readStamp = stampOf) {
    this.#stampOf = readStamp;
  }

  /** Reads a file, and remembers its stamp. The stamp is read first: if the file is replaced meanwhile, it counts as changed. */
  async read<T>(path: string, read: () => Promise<T>): Promise<T> {
    const stamp = await this.#stampOf(path);
    const content = await read();
    if (this.#looks.size >= FILES_MAX) this.#looks.clear();
    this.#looks.set(path, { atMs: performance.now(), stamp });
    return content;
  }

  /**
   * Whether a file was replaced, created or removed since `read`. Looks at most once a second, and returns false in between. Also returns
   * false if the file system fails, or does not respond in time.
   */
  hasChanged(path: string): boolean | Promise<boolean> {
    const look = this.#looks.get(path);
    const now = performance.now();
    if (this.#isHanging || (look !== undefined && now - look.atMs < LOOK_AGAIN_MS)) return false;
    if (look !== undefined) look.atMs = now;
    return this.#look(path, look?.stamp);
  }

  #look(path: string, known: string | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#isHanging = true;
        resolve(false);
      }, LOOK_MS_MAX).unref();
      const end = (isChanged: boolean) => {
        clearTimeout(timer);
        this.#isHanging = false;
        resolve(isChanged);
      };
      this.#lastLook = this.#lastLook
        .then(() => this.#stampOf(path))
        .then(
          (stamp) => end(stamp !== known),
          () => end(false),
        );
    });
  }
}
