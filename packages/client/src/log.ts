/** Receives log lines: `console`, pino, or any object with these methods. Lines of a level without a method are not logged. */
export interface Logger {
  /** Every attempt and its outcome. */
  debug?: ((line: string) => unknown) | undefined;
  /** Data that is queued while the service is unavailable, and every failed attempt that is retried. */
  warn?: ((line: string) => unknown) | undefined;
  /** Events and runs that are lost: dropped or rejected. */
  error?: ((line: string) => unknown) | undefined;
}

/**
 * Writes to the host's logger, and ignores its errors. No line contains a key. No line contains a body, unless the host's `fetch` or
 * `apiKey` function quotes it in an error.
 */
export class Log {
  readonly #logger: Logger | undefined;

  constructor(logger?: Logger) {
    this.#logger = logger;
  }

  /** Whether a level is logged. Check this before you build a line. */
  has(level: keyof Logger): boolean {
    return typeof this.#logger?.[level] === 'function';
  }

  write(level: keyof Logger, line: string): void {
    try {
      // Without the catch, a logger that returns a rejected promise would end the host's process.
      void Promise.resolve(this.#logger?.[level]?.(`countersign: ${withoutKeys(line)}`)).catch(() => undefined);
    } catch {
      // The host's logger failed. The call itself continues.
    }
  }
}

/** Removes the secrets of keys. Texts from the host, such as an error of its `apiKey` function, may contain secrets. */
export const withoutKeys = (line: string): string => line.replace(/(aa_(?:live|read)_[0-9a-f]{12})\.\S+/g, '$1.…');
