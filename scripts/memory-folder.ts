import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

/** The file system in memory that Linux systems have. */
const MEMORY = '/dev/shm';

/** The free space that is required, in the file system and of the memory. The tests use at most a third of it, 0.8 GiB on two cores. */
const FREE_BYTES_MIN = 3 * 1024 ** 3;

const NAME = /^countersign-(\d+)$/;

/**
 * Creates a folder in memory for the temporary files of the tests: they create and remove hundreds of databases of 300 files, which takes
 * four times the processor time on a disk. The caller removes it. Folders that a killed run has left are removed.
 * @returns undefined if there is not enough memory, or if programs cannot run from there.
 */
export function createMemoryFolder(): string | undefined {
  try {
    removeAbandoned();
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < FREE_BYTES_MIN || freemem() < FREE_BYTES_MIN) return undefined;
    const folder = join(MEMORY, `countersign-${process.pid}`);
    mkdirSync(folder, { mode: 0o755 }); // when run by root, PostgreSQL runs as another user that needs access
    if (canRunPrograms(folder)) return folder;
    rmSync(folder, { recursive: true });
  } catch {
    // Not Linux, or not writable: the tests use the disk.
  }
  return undefined;
}

function removeAbandoned(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = NAME.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Containers often mount the file system with `noexec`, but some tests install programs. */
function canRunPrograms(folder: string): boolean {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}
