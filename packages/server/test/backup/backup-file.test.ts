import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const guide = readFileSync(fileURLToPath(new URL('../../../../docs/operating.md', import.meta.url)), 'utf8');

test('the documented backup command makes a file that only its owner can read', () => {
  const line = guide.split('\n').find((each) => each.includes('tar -c'));
  const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
  try {
    mkdirSync(join(folder, 'data', 'secrets'), { recursive: true });
    writeFileSync(join(folder, 'data', 'secrets', 'master-secret'), 'secret');
    execFileSync('/bin/sh', ['-c', `umask 022\n${line}`], { cwd: folder });
    expect(statSync(join(folder, 'countersign-data.tgz')).mode & 0o777).toBe(0o600);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the documented dump of an external PostgreSQL runs with umask 077', () => {
  const line = guide.split('\n').find((each) => each.includes('pg_dump --format'));
  expect(line).toMatch(/^\(umask 077 && pg_dump .*\)$/);
});
