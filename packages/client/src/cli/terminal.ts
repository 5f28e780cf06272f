/** The parts of the process that commands use, except files. Tests replace them. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  environment: Readonly<Record<string, string | undefined>>;
  /** The whole of standard input. */
  input(): Promise<Uint8Array>;
  /** Milliseconds since 1970, by this machine's clock. */
  now(): number;
  /** Milliseconds since a fixed moment, by a monotonic clock. For time limits. */
  elapsed(): number;
  sleep(ms: number): Promise<void>;
  fetch: typeof fetch;
}

/** The terminal of this process. */
export const processTerminal = (): Terminal => ({
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  environment: process.env,
  input: async () => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk);
    return Buffer.concat(chunks);
  },
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  fetch: globalThis.fetch,
});
