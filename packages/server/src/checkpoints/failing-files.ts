import { MemoryFolderError } from '../ledger/memory-folder-error.ts';

/** Files of the memory folder that could not be read or written when they were last used. */
export class FailingFiles {
  /** The codes of the system errors, by act and path. */
  readonly #reasons = new Map<string, string>();

  /** The code of one of the system errors; undefined if no file fails. */
  get reason(): string | undefined {
    return this.#reasons.values().next().value;
  }

  /** Runs `work` on a file. @throws MemoryFolderError instead of a system error. */
  async run<T>(path: string, act: 'read' | 'written', work: () => Promise<T>): Promise<T> {
    const key = `${act} ${path}`;
    try {
      const result = await work();
      this.#reasons.delete(key);
      return result;
    } catch (error) {
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (code === undefined || syscall === undefined) throw error;
      this.#reasons.set(key, code);
      throw new MemoryFolderError(path, act, code);
    }
  }
}
