import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));

describe.each([
  ['packages/client/bin/countersign.js', 'packages/client/src/cli/main.ts'],
  ['packages/server/bin/countersign-server.js', 'packages/server/src/main.ts'],
])('%s in a checkout, on an old Node', (command, source) => {
  /** A folder with the files of a checkout that the command needs. A shell script replaces Node 24. */
  let checkout: string;

  beforeAll(() => {
    checkout = mkdtempSync(join(tmpdir(), 'countersign-checkout-'));
    mkdirSync(join(checkout, 'node_modules/node-test/bin'), { recursive: true });
    mkdirSync(join(checkout, dirname(source)), { recursive: true });
    writeFileSync(join(checkout, source), '');
    cpSync(join(root, command), join(checkout, command));
    writeFileSync(join(checkout, 'package.json'), '{"type":"module"}');
    writeFileSync(join(checkout, 'old.cjs'), `Object.defineProperty(process, 'versions', { value: { node: '20.11.0' } });`);
  });
  afterAll(() => rmSync(checkout, { recursive: true }));

  /** Runs the command with a child process that runs `script`. Returns how the command ends. */
  function endOf(script: string): { status: number | null; signal: string | null } {
    writeFileSync(join(checkout, 'node_modules/node-test/bin/node'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const args = ['--require', join(checkout, 'old.cjs'), join(checkout, command)];
    const { status, signal } = spawnSync(process.execPath, args, { timeout: 30_000 });
    return { status, signal };
  }

  test.each([0, 1, 7])('exits with the status %i of its child process', (status) => {
    expect(endOf(`exit ${status}`)).toEqual({ status, signal: null });
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'])(
    'ends with the signal %s of its child process, never with status 0',
    (signal) => {
      expect(endOf(`kill -${signal.slice(3)} $$`)).toEqual({ status: null, signal });
    },
  );
});
