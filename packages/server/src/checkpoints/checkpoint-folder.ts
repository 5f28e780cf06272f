import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { link, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { wrong } from '../config/config-values.ts';
import type { LogName } from '../storage/log-heads.ts';
import { syncFolder, writeSynced } from './synced-files.ts';

/** Where checkpoints go besides the database: somebody else's keeping makes a cut tail or a rewritten log evident. */
export interface CheckpointSink {
  /** Keeps one; nothing happens when one of this size is there. */
  keep(tenantId: string, log: LogName, checkpoint: { size: number; note: string }): Promise<void>;
  /** The sizes that there is something of, the largest first. */
  sizes(tenantId: string, log: LogName): Promise<number[]>;
}

const SIZE_DIGITS = 16;
const ENDING = '.checkpoint';
const NAME = /^\d{16}\.checkpoint$/;

/** What a file system says that has no hard links, as most mounted buckets. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Refuses a folder that is not there, or takes nothing, when the server starts: a mount that is missing must not become a folder of this
 * machine, where the operator himself keeps what he is to be held against.
 */
export function requireCheckpointFolder(folder: string): void {
  try {
    rmdirSync(mkdtempSync(join(folder, '.countersign-')));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw wrong(
      'COUNTERSIGN_CHECKPOINT_DIR',
      `is ${folder}, which ${code === 'ENOENT' ? 'is not there' : `takes no files (${code})`}; mount it, or make it`,
    );
  }
}

/**
 * Writes each checkpoint to `<folder>/<tenant>/<log>/<size>.checkpoint`, synced, and never over another: the size stands in
 * the name with leading zeros, so that a listing is in order.
 */
export function checkpointFolder(folder: string): CheckpointSink {
  const placeOf = (tenantId: string, log: LogName) => join(folder, tenantId, log);
  return {
    keep: async (tenantId, log, { size, note }) => {
      const path = join(placeOf(tenantId, log), String(size).padStart(SIZE_DIGITS, '0') + ENDING);
      if (await isThere(path)) return;
      // Not the folder itself: a mount that went away must not become a folder of this machine.
      await makeFolder(join(folder, tenantId));
      await makeFolder(dirname(path));
      await writeOnce(path, note);
    },
    sizes: async (tenantId, log) => {
      const names = await readdir(placeOf(tenantId, log)).catch(noFolder);
      return names
        .filter((name) => NAME.test(name))
        .sort()
        .reverse()
        .map((name) => Number.parseInt(name, 10));
    },
  };
}

const makeFolder = (path: string): Promise<void> =>
  mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });

/** There whole or not at all, and never in place of another. */
async function writeOnce(path: string, content: string): Promise<void> {
  // A name that no other server has: in a container even the pid is always the same.
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeSynced(aside, content);
    await link(aside, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return undefined;
      if (!NO_LINKS.has(error.code ?? '')) throw error;
      return rename(aside, path); // whoever is first is not known there; both say the same of one size
    });
    await syncFolder(dirname(path));
  } finally {
    await rm(aside, { force: true });
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );

function noFolder(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
