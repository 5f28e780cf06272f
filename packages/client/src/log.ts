/** Where the client writes lines for people: `console`, pino, or whatever has these methods. A level that is missing is left out. */
export interface Logger {
  /** Each attempt and its outcome. */
  debug?: ((line: string) => unknown) | undefined;
  /** What waits because the service is away, and each attempt that failed and is repeated. */
  warn?: ((line: string) => unknown) | undefined;
  /** Events and runs that are lost: dropped, or refused for what they are. */
  error?: ((line: string) => unknown) | undefined;
}

/** Writes to the host's logger. A line never holds a key, a body, or what the service quotes of one; what a logger throws is ignored. */
export class Log {
  readonly #logger: Logger | undefined;

  constructor(logger?: Logger) {
    this.#logger = logger;
  }

  /** Whether a level has a reader. Asked before a line is made. */
  has(level: keyof Logger): boolean {
    return typeof this.#logger?.[level] === 'function';
  }

  write(level: keyof Logger, line: string): void {
    try {
      // An async logger that rejects would end the host's process.
      void Promise.resolve(this.#logger?.[level]?.(`countersign: ${withoutKeys(line)}`)).catch(() => undefined);
    } catch {
      // The host's own code failed. The call that is logged goes on.
    }
  }
}

/** A key may be in a text that somebody else made, such as the error of the host's own `apiKey` function. */
const withoutKeys = (line: string): string => line.replace(/(aa_(?:live|read)_[0-9a-f]{12})\.\S+/g, '$1.…');
