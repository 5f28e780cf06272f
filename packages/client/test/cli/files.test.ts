import {
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { decodeText, prepareFile, readTextFile, writeFile } from '../../src/cli/files.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, renameSync: vi.fn(fs.renameSync) };
});

const folder = mkdtempSync(join(tmpdir(), 'countersign-files-'));
let path: string;
let fileCount = 0;
beforeEach(() => {
  fileCount += 1;
  path = join(folder, `${fileCount}.json`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const partialFiles = () => readdirSync(folder).filter((name) => name.includes('partial'));

test('a text that begins with a byte order mark is rejected with a message that names the mark', () => {
  const bytes = Buffer.from('\ufeff{"text":"a"}');
  writeFileSync(path, bytes);
  expect(() => readTextFile(path)).toThrow(`${JSON.stringify(path)} begins with a byte order mark; save it as UTF-8 without one`);
  expect(() => decodeText('-', bytes)).toThrow('"-" begins with a byte order mark');
  expect(decodeText('-', Buffer.from('{"text":"\ufeff"}'))).toBe('{"text":"\ufeff"}');
});

test('an output file is written through a symbolic link, which stays a link', () => {
  for (const target of [`${path}.old`, `${path}.missing`]) {
    if (target.endsWith('old')) writeFileSync(target, 'old');
    const link = `${target}.link`;
    symlinkSync(target, link);
    prepareFile(link);
    expect(readFileSync(target, 'utf8')).toBe('');
    writeFile(link, 'new');
    expect([lstatSync(link).isSymbolicLink(), readFileSync(target, 'utf8')]).toEqual([true, 'new']);
  }
});

test.runIf(existsSync('/proc/self/fd'))(
  'writing to a standard stream that is redirected to a file keeps the earlier content of the file',
  () => {
    const file = openSync(path, 'w');
    writeFileSync(file, 'before\n');
    for (const stream of [`/proc/self/fd/${file}`, `/dev/fd/${file}`]) {
      prepareFile(stream);
      writeFile(stream, 'text\n');
    }
    closeSync(file);
    expect(readFileSync(path, 'utf8')).toBe('before\ntext\ntext\n');
  },
);

test('a file that cannot be replaced, such as a mounted one, is written directly', () => {
  writeFileSync(path, 'old');
  vi.mocked(renameSync).mockImplementation(() => {
    throw Object.assign(new Error('EBUSY: resource busy or locked, rename'), { code: 'EBUSY', syscall: 'rename' });
  });
  try {
    prepareFile(path);
    expect(readFileSync(path, 'utf8')).toBe('');
    writeFile(path, 'new');
  } finally {
    vi.mocked(renameSync).mockRestore();
  }
  expect([readFileSync(path, 'utf8'), partialFiles()]).toEqual(['new', []]);
});

test('a temporary file that a killed process left behind does not prevent writing', () => {
  writeFileSync(`${path}.${process.pid}.partial`, '');
  prepareFile(path);
  writeFile(path, 'new');
  expect(readFileSync(path, 'utf8')).toBe('new');
});

test('preparing an output file removes an older file at the same path', () => {
  writeFileSync(path, 'old');
  prepareFile(path);
  expect(existsSync(path)).toBe(false);
});
