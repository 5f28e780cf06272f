import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ownAddress, publicAddress } from '../../src/config/public-address.ts';
import { processEnvironment } from '../fixtures/process-environment.ts';
import { DataFolder, SERVER_MAIN, ServerProcess } from '../fixtures/server-process.ts';
import { PYTHON } from '../harness/independent-verifier.ts';

/** A script that runs a command on a pseudo-terminal until the command is ready, ends it, and prints the output of the terminal. */
const TERMINAL_SCRIPT = `
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
shown = b''
try:
    while b'"ready"' not in shown:
        read = os.read(terminal, 65536)
        if not read: break
        shown += read
    os.kill(pid, signal.SIGTERM)
    while os.read(terminal, 65536): pass
except OSError: pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
`;

describe('the set-up link of a first start', () => {
  test('is written to a file that only its owner can read, and not to the output, which log collectors may store', {
    timeout: 90_000,
  }, async () => {
    const folder = new DataFolder();
    const server = await ServerProcess.start(folder.environment);
    try {
      const file = join(folder.path, 'set-up-link.txt');
      expect(server.output).not.toContain('/link#');
      expect(server.output).toContain(file);
      expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
      const token = readFileSync(file, 'utf8').trim().split('#')[1]!;
      const response = await fetch(`${server.url}/api/portal/links/show`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: server.url },
        body: JSON.stringify({ token }),
      });
      expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ purpose: 'set_up' })]);
    } finally {
      await server.end('SIGTERM');
      await folder.clear();
    }
  });

  test('is written to the file by `serve --json`, which writes nothing to stderr', { timeout: 90_000 }, async () => {
    const folder = new DataFolder();
    const server = await ServerProcess.start(folder.environment, { args: ['--json'] });
    try {
      expect(existsSync(join(folder.path, 'set-up-link.txt'))).toBe(true);
      expect(server.stderr).toBe('');
    } finally {
      await server.end('SIGTERM');
      await folder.clear();
    }
  });

  test('is shown on a terminal and written to no file', { timeout: 90_000 }, async () => {
    const folder = new DataFolder();
    try {
      const env = processEnvironment({ COUNTERSIGN_PORT: '0', ...folder.environment });
      const { stdout } = await promisify(execFile)(PYTHON, ['-c', TERMINAL_SCRIPT, process.execPath, SERVER_MAIN, 'serve'], {
        env,
      });
      expect(stdout).toMatch(/http:\/\/127\.0\.0\.1:\d+\/link#[\w-]{43}/);
      expect(existsSync(join(folder.path, 'set-up-link.txt'))).toBe(false);
    } finally {
      await folder.clear();
    }
  });
});

describe('publicAddress', () => {
  const config = { host: '127.0.0.1', port: 7300, tls: undefined, publicUrl: undefined, behindProxy: false };
  const tls = { cert: '', key: '' };
  const caution = expect.stringContaining('set COUNTERSIGN_PUBLIC_URL');

  test.each([
    ['loopback', {}, 'http://127.0.0.1:7300', undefined],
    ['IPv6', { host: '::1' }, 'http://[::1]:7300', undefined],
    ['a name with TLS', { host: 'gate.example.com', tls }, 'https://gate.example.com:7300', undefined],
    ['every address', { host: '0.0.0.0', behindProxy: true }, 'http://127.0.0.1:7300', caution],
    ['every IPv6 address with TLS', { host: '::', tls }, 'https://localhost:7300', caution],
    ['behind a proxy', { behindProxy: true }, 'http://127.0.0.1:7300', caution],
    ['behind a proxy with a name', { host: 'gate.internal', behindProxy: true }, 'http://gate.internal:7300', caution],
    ['as configured', { host: '0.0.0.0', publicUrl: 'https://gate.example.com' }, 'https://gate.example.com', undefined],
  ])(
    'returns the origin of links, and a caution if the address that people use is unknown: %s',
    (_what, changed, origin, expected) => {
      expect(publicAddress({ ...config, ...changed })).toEqual({ origin, caution: expected });
    },
  );

  test('ownAddress ignores the public URL', () => {
    expect(ownAddress({ ...config, publicUrl: 'https://gate.example.com' }, 7301)).toBe('http://127.0.0.1:7301');
  });
});
