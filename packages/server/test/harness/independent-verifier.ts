import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { CommandResult } from '../fixtures/run-command.ts';

/** The path of the Python interpreter. `python3` on the PATH may be a script of a version manager, which starts three times slower. */
export const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();

const VERIFIER_SCRIPT = fileURLToPath(new URL('../../../../examples/verify/forked.py', import.meta.url));

/** The process that runs the verifier in forks of itself (examples/verify/forked.py). */
class VerifierProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;
  /** The runs that wait for a response, in the order of their requests. */
  readonly #waiting: { resolve: (result: CommandResult) => void; reject: (error: Error) => void }[] = [];

  /** @param onExit is called when the process has exited, before its runs are rejected. */
  constructor(onExit: () => void) {
    // The verifier needs only the standard library. With -S, Python does not load other packages and starts faster.
    this.#child = spawn(PYTHON, ['-S', VERIFIER_SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout });
    this.#lines.on('line', (line) => this.#waiting.shift()?.resolve(JSON.parse(line)));
    // A write fails if the process has just exited. The handler of `exit` then rejects the run.
    this.#child.stdin.on('error', () => undefined);
    this.#child.once('exit', (code, signal) => {
      onExit();
      for (const { reject } of this.#waiting) reject(new Error(`the process of the verifier ended with ${code ?? signal}`));
    });
    // The process of the tests must not wait for this process, which ends when its standard input is closed.
    for (const handle of [this.#child, this.#child.stdin, this.#child.stdout])
      (handle as unknown as { unref: () => void }).unref();
  }

  get pid(): number {
    return this.#child.pid!;
  }

  run(args: readonly string[], input: string | Uint8Array): Promise<CommandResult> {
    const request = { arguments: args, stdin: Buffer.from(input).toString('base64') };
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    });
  }
}

let verifier: VerifierProcess | undefined;

/** The PID of the verifier's process; undefined if none runs. */
export const verifierPid = (): number | undefined => verifier?.pid;

/**
 * Runs the independent verifier, which shares no code with the packages. The status is -14 if the verifier did not end within 60 seconds.
 * @param input the standard input of the verifier.
 */
export function runVerifier(args: readonly string[], input: string | Uint8Array = ''): Promise<CommandResult> {
  verifier ??= new VerifierProcess(() => {
    verifier = undefined;
  });
  return verifier.run(args, input);
}
