import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { originOf, parseCheckpointText } from '@countersign/core/domain/checkpoint';
import { wrong } from '../config/config-values.ts';
import type { KeptHead, KeptHeads } from '../ledger/head-memory.ts';
import type { LogName } from '../storage/log-heads.ts';
import { syncFolder, writeSynced } from './synced-files.ts';

/** Not its parents: a mount that went away must not become a folder of this machine. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Makes the folder where there is none, and sees whether it takes files. Says why not. */
function unusable(folder: string): string | undefined {
  try {
    makeFolder(folder);
    rmdirSync(mkdtempSync(join(folder, '.countersign-')));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  }
}

/**
 * The folder that remembers checkpoints, ready for use. Undefined where none is configured, or the default one cannot be used, which is
 * said; one that was named must be usable.
 */
export function openMemoryFolder(
  { memoryDir, memoryDirNamed }: { memoryDir: string | undefined; memoryDirNamed: boolean },
  say: (line: string) => void,
): KeptHeads | undefined {
  if (memoryDir === undefined) return undefined;
  const reason = unusable(memoryDir);
  if (reason === undefined) return memoryFolder(memoryDir);
  if (memoryDirNamed)
    throw wrong('COUNTERSIGN_MEMORY_DIR', `is ${memoryDir}, which takes no files (${reason}); mount it, or make it`);
  say(
    `${memoryDir} takes no files (${reason}): an older state of the database is not noticed after a restart; set COUNTERSIGN_MEMORY_DIR`,
  );
  return undefined;
}

/** Keeps the newest checkpoint of each log as `<folder>/<tenant>/<log>.checkpoint`, synced, in place of the one before. */
function memoryFolder(folder: string): KeptHeads {
  const pathOf = (tenantId: string, log: LogName) => join(folder, tenantId, `${log}.checkpoint`);
  /** Sizes that this process has kept: most checkpoints are asked for again and again. */
  const kept = new Map<string, number>();
  return {
    latest: async (tenantId, log) => {
      const path = pathOf(tenantId, log);
      const note = await readFile(path, 'utf8').catch(noFile);
      return note === undefined ? undefined : headOf(note, path, originOf(tenantId, log));
    },
    keep: async (tenantId, log, { size, note }) => {
      const path = pathOf(tenantId, log);
      if ((kept.get(path) ?? -1) >= size) return;
      const aside = `${path}.${randomBytes(6).toString('hex')}`;
      makeFolder(dirname(path));
      try {
        await writeSynced(aside, note);
        await rename(aside, path);
        await syncFolder(dirname(path));
        kept.set(path, size);
      } finally {
        await rm(aside, { force: true });
      }
    },
  };
}

function headOf(note: string, path: string, origin: string): KeptHead {
  const head = parseCheckpointText(note.slice(0, note.lastIndexOf('\n\n') + 1));
  if (head?.origin !== origin)
    throw new Error(
      `${path} is not a checkpoint of ${origin}: restore it, or see docs/operating.md, "Going on from an older state"`,
    );
  return { size: head.size, root: head.root };
}

function noFile(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
