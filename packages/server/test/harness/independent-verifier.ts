import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CommandResult } from '../fixtures/run-command.ts';

/** The path of the interpreter. The `python3` on the PATH may be the script of a version manager, which starts three times slower. */
export const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();

const VERIFIER = fileURLToPath(new URL('../../../../examples/verify/verify.py', import.meta.url));

/**
 * Runs the independent verifier, which shares no code with the packages. The status is -1 if it did not end within 60 seconds.
 * @param input the standard input of the verifier.
 */
export function runVerifier(args: readonly string[], input?: string | Uint8Array): CommandResult {
  // The verifier needs only the standard library. With -S, Python does not load other packages and starts faster.
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-S', VERIFIER, ...args], {
    encoding: 'utf8',
    timeout: 60_000,
    ...(input === undefined ? {} : { input }),
  });
  return { status: status ?? -1, out: stdout, err: stderr };
}
