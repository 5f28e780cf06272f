import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { withOutputFile } from '../../src/cli/files.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('an output file is written even if an earlier, killed command with the same process ID has left its temporary file', async () => {
  const target = join(folder, 'acme.checkpoint');
  const leftOver = `acme.checkpoint.${process.pid}.partial`;
  writeFileSync(join(folder, leftOver), '');
  await withOutputFile(target, (write) => write('text'));
  expect(readFileSync(target, 'utf8')).toBe('text');
  expect(readdirSync(folder).sort()).toEqual(['acme.checkpoint', leftOver]);
});
