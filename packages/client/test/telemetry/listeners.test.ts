import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

/** The path of a Node 20 on the PATH, because that version counts the listeners of an AbortSignal. Otherwise the current Node. */
function oldNode(): string {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      const path = join(folder, 'node');
      if (execFileSync(path, ['--version'], { encoding: 'utf8', stdio: 'pipe' }).startsWith('v20.')) return path;
    } catch {
      // This folder has no Node.
    }
  }
  return process.execPath;
}

test('100,000 events with up to 16 concurrent requests cause no warning of Node', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-listeners-'));
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      // The delay lets requests accumulate up to their limit.
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true,"ingested":1}'), 5);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const outfile = join(folder, 'emit.mjs');
    const entry = fileURLToPath(new URL('../fixtures/emit-many.ts', import.meta.url));
    await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'neutral', target: 'es2022' });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { stdout, stderr } = await promisify(execFile)(oldNode(), [outfile, url, '100000']);
    expect([stdout, stderr]).toEqual(['100000', '']);
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
