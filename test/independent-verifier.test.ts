import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PYTHON } from '../packages/server/test/harness/independent-verifier.ts';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('../examples/verify/', import.meta.url));
const python = (...args: string[]) => run(PYTHON, ['-B', ...args], { cwd: folder });

describe('independent verifier', () => {
  test('passes its own tests', async () => {
    const { stderr } = await python('test_verify.py');
    expect(stderr).toMatch(/^OK/m);
    expect(Number(/^Ran (\d+) tests/m.exec(stderr)?.[1])).toBeGreaterThan(100);
  }, 600_000);

  test('reproduces the golden vectors byte for byte', async () => {
    await python('make_vectors.py', '--check');
  }, 60_000);
});
