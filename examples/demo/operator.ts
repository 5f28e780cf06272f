import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Narrator, Unexpected } from './narrator.ts';

/** The command `countersign-server`, as this checkout runs it. */
export const COMMAND = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url));

/** How a process ended. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** How a command is to be told: what to show of its output, and how it must end. */
interface Telling {
  /** What is shown instead of the output: of a secret, that it was there. */
  show?: (stdout: string) => string;
  /** The exit code that is right here; 0 unless said. */
  code?: number;
}

/** The person who runs the installation. Works on the server's database, by the commands that anybody would type. */
export class Operator {
  readonly #narrator: Narrator;

  constructor(narrator: Narrator) {
    this.#narrator = narrator;
  }

  /** Runs one command and tells it; returns its standard output without the line's end. */
  async run(args: string[], { show, code = 0 }: Telling = {}): Promise<string> {
    this.#narrator.act(`$ bin/countersign-server ${args.map(quoted).join(' ')}`);
    const ended = await run(process.execPath, [COMMAND, ...args]);
    const stdout = ended.stdout.trimEnd();
    const said = lastLine(ended.stderr);
    if (ended.code !== code)
      throw new Unexpected(
        `countersign-server ${args.slice(0, 2).join(' ')}: expected exit code ${code}, got ${ended.code}; ${said}`,
      );
    this.#narrator.answer((stdout === '' ? said : (show?.(stdout) ?? stdout)) + (code === 0 ? '' : ` (exit code ${code})`));
    return stdout;
  }
}

/** Runs a program to its end. `code` is null when there is no such program, or a signal ended it. */
export function run(program: string, args: string[]): Promise<Ended> {
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

/** The last line that says anything. */
export const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

/** An argument as a shell takes it. */
const quoted = (argument: string): string =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
