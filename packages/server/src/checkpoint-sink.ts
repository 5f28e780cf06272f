import { existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LogName } from './storage/ledger.ts';
import type { StoredCheckpoint } from './storage/tree.ts';

/** Where checkpoints go besides the database: somebody else's keeping makes a cut tail or a rewritten log evident. */
export type CheckpointSink = (tenantId: string, log: LogName, checkpoint: StoredCheckpoint) => void;

/**
 * Writes each checkpoint to `<folder>/<tenant>/<log>/<size>.checkpoint`, synced, and never over another: the size stands in
 * the name with leading zeros, so that a listing is in order.
 */
export function folderSink(folder: string): CheckpointSink {
  return (tenantId, log, { size, note }) => {
    const place = join(folder, tenantId, log);
    const path = join(place, `${String(size).padStart(16, '0')}.checkpoint`);
    if (existsSync(path)) return;
    mkdirSync(place, { recursive: true });
    const aside = `${path}.${process.pid}`;
    writeFileSync(aside, note, { flush: true });
    try {
      linkSync(aside, path); // there whole or not at all, and never in place of another
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(aside, { force: true });
    }
  };
}
