import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../', import.meta.url));
let folder: string;
let command: string;

/** The environment of a new user: no variables of this run except PATH, and data in the scratch folder. */
const environment = () => ({
  PATH: process.env.PATH,
  HOME: folder,
  COUNTERSIGN_DATA_DIR: join(folder, 'data'),
  COUNTERSIGN_PORT: '0',
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-packed-'));
  chmodSync(folder, 0o755); // If root runs this test, PostgreSQL runs as another user and needs access.
  await run('npm', ['pack', '--workspace', 'packages/server', '--pack-destination', folder], { cwd: root });
  const [archive] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', join(folder, archive!)], { cwd: folder });
  command = join(folder, 'node_modules/@countersign/server/bin/countersign-server.js');
}, 180_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The paths of the files in a folder, without the files in its node_modules. */
const filesIn = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(path, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('node_modules'))
    .sort();

const operate = async (...args: string[]) =>
  (await run(process.execPath, [command, ...args], { cwd: folder, env: environment() })).stdout.trim();

describe('packed server installed outside the repository', () => {
  test('contains exactly the built JavaScript, the command, all migrations, all built pages, the readme and the license', () => {
    const files = filesIn(join(folder, 'node_modules/@countersign/server'));
    const migrations = filesIn(join(root, 'packages/server/migrations'));
    const pages = filesIn(join(root, 'packages/portal/dist')).filter((file) => file !== '.built');
    // esbuild adds a hash to the names of the modules that the three programs share.
    expect(files.filter((file) => !/^dist\/[\w-]+-[0-9A-Z]{8}\.js$/.test(file))).toEqual(
      [
        ...['LICENSE', 'README.md', 'package.json', 'bin/countersign-server.js'],
        ...['dist/body-worker.js', 'dist/keeper.js', 'dist/main.js'],
        ...migrations.map((file) => `migrations/${file}`),
        ...pages.map((file) => `portal/${file}`),
      ].sort(),
    );
  });

  test('creates a workspace and a key, serves API and pages, verifies the ledger, writes a backup, and shuts down cleanly', async () => {
    expect(await operate('workspace', 'create', '--name', 'acme')).toMatch(/^[0-9a-f-]{36}$/);
    const key = await operate('keys', 'mint', '--workspace', 'acme', '--name', 'ci', '--scopes', 'audit');
    const server = spawn(process.execPath, [command, 'serve'], {
      cwd: folder,
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    try {
      const url = await addressOf(server.stderr);
      // A worker thread parses the longer body.
      for (const padding of ['', ' '.repeat(70_000)]) {
        const response = await fetch(`${url}/api/public/audit`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: `{"actor":"packed","action":"test.ran"}${padding}`,
        });
        expect(response.status).toBe(200);
      }
      const page = await fetch(`${url}/`, { headers: { accept: 'text/html' } });
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root">')]);
      expect(await operate('ledger', 'verify', '--workspace', 'acme')).toMatch(/^valid: 2 entries, head [0-9a-f]{64}$/);
      expect(await operate('backup', '--output', join(folder, 'packed.backup'))).toMatch(/^valid: 5 logs/);
    } finally {
      server.kill('SIGTERM');
    }
    expect(await once(server, 'exit')).toEqual([0, null]);
  }, 60_000);
});

/** The URL that the server prints when it is ready. */
function addressOf(stderr: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    stderr.on('data', (chunk) => {
      output += String(chunk);
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      if (address !== undefined) resolve(address);
    });
    stderr.on('end', () => reject(new Error(`the server ended without printing its address: ${output}`)));
  });
}
