import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CheckFailedError, type Narrator } from './narrator.ts';

/** The main file of `countersign-server` in this checkout. Tests set SERVER_FOR_TESTS to a bundle, which starts faster. */
export const COMMAND =
  process.env.SERVER_FOR_TESTS ?? fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url));

/** The exit code and the output of a process. */
export interface ProcessResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** How to print the output of a command, and the expected exit code. */
interface RunOptions {
  /** The text to print instead of the output, for example if the output is a secret. */
  show?: (stdout: string) => string;
  /** The expected exit code. Undefined: 0. */
  code?: number;
}

/** The operator of the instance, who uses the commands of the server on its database. */
export class Operator {
  readonly #narrator: Narrator;

  constructor(narrator: Narrator) {
    this.#narrator = narrator;
  }

  /** Runs and prints one command. Returns its stdout without the final newline. Throws unless it ends with the expected exit code. */
  async run(args: string[], { show, code = 0 }: RunOptions = {}): Promise<string> {
    this.#narrator.printAction(`$ bin/countersign-server ${args.map(quote).join(' ')}`);
    const result = await run(process.execPath, [COMMAND, ...args]);
    const stdout = result.stdout.trimEnd();
    const lastError = lastLine(result.stderr);
    if (result.code !== code)
      throw new CheckFailedError(
        `countersign-server ${args.slice(0, 2).join(' ')}: expected exit code ${code}, got ${result.code}; ${lastError}`,
      );
    this.#narrator.printOutput(
      (stdout === '' ? lastError : (show?.(stdout) ?? stdout)) + (code === 0 ? '' : ` (exit code ${code})`),
    );
    return stdout;
  }
}

/** Runs a program to its end. `code` is null if the program does not exist or a signal ended it. */
export function run(program: string, args: string[]): Promise<ProcessResult> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', (error) => resolve({ code: null, stdout, stderr: error.message }));
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** The last line that is not empty. */
export const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

/** An argument, quoted for a shell. */
const quote = (argument: string): string =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
