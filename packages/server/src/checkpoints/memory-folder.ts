import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { originOf, parseCheckpointText } from '@countersign/core/domain/checkpoint';
import { noteText } from '@countersign/core/domain/signed-note';
import { variableError } from '../config/config-values.ts';
import { syncFolder, writeSynced } from '../files/synced-files.ts';
import type { HeadStore } from '../ledger/head-memory.ts';
import type { LogName } from '../storage/log-heads.ts';
import { ChangedFiles } from './changed-files.ts';
import { WRITABLE_REMEDY } from './checkpoint-folder.ts';
import { FailingFiles } from './failing-files.ts';

/** A file of the memory folder does not contain the checkpoint that it should contain. */
export class DamagedCheckpointError extends Error {
  override name = 'DamagedCheckpointError';

  constructor(path: string, origin: string) {
    super(
      `${path} is damaged: it is not a checkpoint of ${origin}; move the file away, and verify the log against a checkpoint that you ` +
        'kept elsewhere (see docs/operating.md, "A damaged file in the memory folder")',
    );
  }
}

/** Creates a folder but not its parents: a local folder must not replace a missing mount. Returns false if the folder exists. */
function makeFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** Creates the folder if it does not exist. If that fails or the folder is not writable, returns the reason. */
function findFolderFault(folder: string): string | undefined {
  try {
    makeFolder(folder);
    rmdirSync(mkdtempSync(join(folder, '.countersign-')));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  }
}

/**
 * Opens the memory folder. Returns undefined if no folder is configured and there is no default one. Also returns undefined if the default
 * one is not usable; `say` then receives the reason.
 * @throws ExitError if a configured folder is not usable.
 */
export function openMemoryFolder(
  { memoryDir, isMemoryDirConfigured }: { memoryDir: string | undefined; isMemoryDirConfigured: boolean },
  say: (line: string) => void,
): HeadStore | undefined {
  if (memoryDir === undefined) return undefined;
  const reason = findFolderFault(memoryDir);
  if (reason === undefined) return memoryFolder(memoryDir);
  if (isMemoryDirConfigured) {
    const remedy = reason === 'ENOENT' ? 'mount or create its parent folder' : WRITABLE_REMEDY;
    throw variableError('COUNTERSIGN_MEMORY_DIR', `is ${memoryDir}, which is not writable (${reason}); ${remedy}`);
  }
  say(
    `${memoryDir} is not writable (${reason}): an older state of the database is not detected after a restart; set COUNTERSIGN_MEMORY_DIR`,
  );
  return undefined;
}

/** Stores the newest checkpoint of each log as `<folder>/<tenant>/<log>.checkpoint`, synced to disk, in place of the previous one. */
function memoryFolder(folder: string): HeadStore {
  const pathOf = (tenantId: string, log: LogName) => join(folder, tenantId, `${log}.checkpoint`);
  /** The size of the checkpoint that this process wrote last, by path. A checkpoint that is requested again is not written again. */
  const writtenSizes = new Map<string, number>();
  const files = new ChangedFiles();
  const failing = new FailingFiles();
  const replace = async (path: string, { size, note }: { size: number; note: string }) => {
    const temporary = `${path}.${randomBytes(6).toString('hex')}`;
    if (makeFolder(dirname(path))) await syncFolder(folder);
    try {
      await writeSynced(temporary, note);
      await rename(temporary, path);
      await syncFolder(dirname(path));
      writtenSizes.set(path, size);
    } finally {
      await rm(temporary, { force: true });
    }
  };
  return {
    get fault() {
      return failing.reason;
    },
    latest: (tenantId, log) => {
      const path = pathOf(tenantId, log);
      const read = async () => {
        const note = await readFile(path, 'utf8').catch(undefinedIfMissing);
        if (note === undefined) return undefined;
        const origin = originOf(tenantId, log);
        const head = parseNote(note);
        if (head?.origin === origin) return { size: head.size, root: head.root };
        // The next call reads the file again: the log is refused until the file is replaced.
        files.forget(path);
        throw new DamagedCheckpointError(path, origin);
      };
      return failing.run(path, 'read', () => files.read(path, read));
    },
    hasChanged: (tenantId, log) => files.hasChanged(pathOf(tenantId, log)),
    write: (tenantId, log, checkpoint, { isRestoreAccepted = false } = {}) => {
      const path = pathOf(tenantId, log);
      return failing.run(path, 'written', async () => {
        const isWritten = (writtenSizes.get(path) ?? -1) >= checkpoint.size;
        // Another server may have stored a larger checkpoint.
        if (!isRestoreAccepted && (isWritten || (await storedSize(path)) > checkpoint.size)) return;
        await replace(path, checkpoint);
      });
    },
  };
}

/** The size of the checkpoint in a file; -1 if there is no file, or if it does not contain a checkpoint. */
async function storedSize(path: string): Promise<number> {
  const note = await readFile(path, 'utf8').catch(undefinedIfMissing);
  return note === undefined ? -1 : (parseNote(note)?.size ?? -1);
}

const parseNote = (note: string) => parseCheckpointText(noteText(note));

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
