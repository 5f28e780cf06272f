import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** For this time after a look at a file, `hasChanged` does not look again. */
const LOOK_AGAIN_MS = 1_000;

/** The longest wait for a look. A network file system may never respond. */
const LOOK_MS_MAX = 1_000;

/** The largest number of files whose last look is remembered. Above it, all are dropped, so their files are read again. */
const FILES_MAX = 100_000;

/** Differs after a file was replaced. Empty if there is no file. */
async function stampOf(path: string): Promise<string> {
  try {
    const { ino, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${mtimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Finds out cheaply whether files that this process has read were replaced since. */
export class ChangedFiles {
  /** When each file was last looked at, by the monotonic clock, and its stamp when it was last read. */
  readonly #looks = new Map<string, { atMs: number; stamp: string }>();
  /** The last look. The next one waits for it, so that a file system that hangs blocks only one thread. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether the last look has not ended within LOOK_MS_MAX. */
  #hangs = false;

  /** Reads a file, and remembers its stamp. The stamp is read first: if the file is replaced meanwhile, it counts as changed. */
  async read<T>(path: string, read: () => Promise<T>): Promise<T> {
    const stamp = await stampOf(path);
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
    if (this.#hangs || (look !== undefined && now - look.atMs < LOOK_AGAIN_MS)) return false;
    if (look !== undefined) look.atMs = now;
    return this.#look(path, look?.stamp);
  }

  async #look(path: string, known: string | undefined): Promise<boolean> {
    const stamp = this.#turn.then(() => stampOf(path));
    this.#turn = stamp.then(
      () => this.#setHangs(false),
      () => this.#setHangs(false),
    );
    const waiting = new AbortController();
    const late = sleep(LOOK_MS_MAX, undefined, { ref: false, signal: waiting.signal }).then(() => this.#setHangs(true));
    const changed = stamp.then((current) => current !== known);
    return Promise.race([changed, late.then(() => false)])
      .catch(() => false)
      .finally(() => waiting.abort());
  }

  #setHangs(hangs: boolean): void {
    this.#hangs = hangs;
  }
}
