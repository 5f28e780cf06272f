import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../packages/embedded-database/test/harness/processes.ts';

/** The file system that Linux keeps in memory. */
const MEMORY = '/dev/shm';

/** The bytes that must be free, both in the file system and in memory. The tests use at most a third of them: 0.8 GiB on two cores. */
const FREE_BYTES_MIN = 3 * 1024 ** 3;

/** Matches the names of the folders of createMemoryFolder. The number is the PID of the process that created the folder. */
const FOLDER_NAME = /^countersign-(\d+)$/;

/** The name of a file in the folder. The file contains the PID of the process that runs the tests. */
const PID_FILE = 'user.pid';

/**
 * Creates a folder in memory for the temporary files of the tests. The tests create and remove hundreds of databases of 300 files each,
 * which takes four times the processor time on a disk. Also removes folders that killed runs have left. The caller removes the new folder.
 * @returns the path of the new folder; undefined if the file system does not exist or is not writable, if too little space or memory is
 * free, or if programs cannot run in the folder.
 */
export function createMemoryFolder(): string | undefined {
  try {
    removeAbandonedFolders();
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < FREE_BYTES_MIN || process.availableMemory() < FREE_BYTES_MIN) return undefined;
    const folder = join(MEMORY, `countersign-${process.pid}`);
    mkdirSync(folder);
    chmodSync(folder, 0o755); // if root runs this, PostgreSQL runs as another user, who needs access
    if (canRunPrograms(folder)) return folder;
    rmSync(folder, { recursive: true });
  } catch {
    // Not Linux, or not writable: the tests use the disk.
  }
  return undefined;
}

/** Records the process that runs the tests. Other runs remove the folder only after this process and the folder's creator have ended. */
export function recordTestProcess(folder: string, pid: number): void {
  writeFileSync(join(folder, PID_FILE), String(pid));
}

function removeAbandonedFolders(): void {
  for (const name of readdirSync(MEMORY)) {
    const creator = FOLDER_NAME.exec(name)?.[1];
    const folder = join(MEMORY, name);
    if (creator === undefined || [Number(creator), ...testProcessesOf(folder)].some(isAlive)) continue;
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // The folder belongs to another user.
    }
  }
}

function testProcessesOf(folder: string): number[] {
  try {
    return [Number.parseInt(readFileSync(join(folder, PID_FILE), 'utf8'), 10)];
  } catch {
    return []; // the creator was killed before it started the tests
  }
}

/** Whether programs in the folder can run: some tests install programs, but containers often mount the file system with `noexec`. */
function canRunPrograms(folder: string): boolean {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}
