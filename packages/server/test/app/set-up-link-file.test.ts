import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { writeSetUpLink } from '../../src/app/set-up-link-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-link-'));
afterAll(() => rmSync(folder, { recursive: true }));

const path = join(folder, 'set-up-link.txt');

test('two processes that write the link at the same time leave one complete file', async () => {
  const module = new URL('../../src/app/set-up-link-file.ts', import.meta.url).href;
  const script = `import { writeSetUpLink } from ${JSON.stringify(module)};
    for (let count = 0; count < 2_000; count += 1) writeSetUpLink(${JSON.stringify(folder)}, 'link-' + process.pid);`;
  const runScript = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  await Promise.all([runScript(), runScript()]);
  expect(readFileSync(path, 'utf8')).toMatch(/^link-\d+\n$/);
  expect(readdirSync(folder)).toEqual(['set-up-link.txt']);
});

test('writeSetUpLink replaces a symbolic link and writes nothing to its target', () => {
  rmSync(path);
  symlinkSync(join(folder, 'target'), path);
  writeSetUpLink(folder, 'a link');
  expect(readdirSync(folder)).toEqual(['set-up-link.txt']);
  expect([readFileSync(path, 'utf8'), (statSync(path).mode & 0o777).toString(8)]).toEqual(['a link\n', '600']);
});
