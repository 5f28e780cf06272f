import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

test('100,000 events with up to 16 concurrent requests cause no warning about more than ten listeners of a signal', async () => {
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
    const format = { format: 'esm', platform: 'neutral', target: 'es2022' } as const;
    await build({ entryPoints: [entry], outfile, bundle: true, external: ['node:events'], ...format });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [outfile, url, '100000']);
    expect([stdout, stderr]).toEqual(['100000', '']);
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
