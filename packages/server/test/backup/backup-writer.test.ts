import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBackup } from '../../src/backup/backup-writer.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a backup does not overwrite a file that another process created while the backup was written', async () => {
  const path = join(folder, 'backup.tar');
  const backup = await createBackup(path, new Date(0));
  await backup.add('manifest.json', Buffer.from('{}'));
  writeFileSync(path, 'an older backup');
  await expect(backup.finish()).rejects.toThrow(/exists; give another name/);
  await backup.discard();
  expect([readdirSync(folder), readFileSync(path, 'utf8')]).toEqual([['backup.tar'], 'an older backup']);
});

test('a finished backup leaves no temporary file', async () => {
  const backup = await createBackup(join(folder, 'backup.tar'), new Date(0));
  await backup.add('manifest.json', Buffer.from('{}'));
  await backup.finish();
  expect(readdirSync(folder)).toEqual(['backup.tar']);
});

test('a backup is not affected by the temporary file that an earlier, killed command with the same process ID has left', async () => {
  writeFileSync(join(folder, `backup.tar.${process.pid}.partial`), '');
  const backup = await createBackup(join(folder, 'backup.tar'), new Date(0));
  await backup.add('manifest.json', Buffer.from('{}'));
  await backup.finish();
  expect(readdirSync(folder)).toContain('backup.tar');
});
