import type { Contradiction } from '@countersign/core/domain/chain-report';
import { openCheckpoint, originOf, parseCheckpointText } from '@countersign/core/domain/checkpoint';
import { type NoteKey, noteText, sameBytes } from '@countersign/core/domain/signed-note';
import type { KeptHead } from '@countersign/core/domain/tree-verifier';
import type { Pool } from 'pg';
import { sha256, verifyEd25519 } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import type { LogName } from '../storage/log-heads.ts';
import { findLatestCheckpoint, readCheckpointsPage } from '../storage/tree.ts';

/** The log whose stored checkpoints are read, and the keys of the checkpoints. */
export interface CheckpointSelection {
  tenantId: string;
  log: LogName;
  /** Keys that may have signed the checkpoints; undefined to skip the check of signatures. */
  keys: readonly NoteKey[] | undefined;
}

/**
 * Reads the stored checkpoints of a log, smallest first. It reads them in pages, because a log can get a checkpoint every minute for years.
 */
export class StoredCheckpoints {
  readonly #pool: Pool;
  readonly #selection: CheckpointSelection;
  /** The size of the largest checkpoint at the start; -1 if there was none. */
  readonly #largestSize: number;
  #page: KeptHead[] = [];
  /** The size of the last checkpoint that was read. */
  #readSize = -1;

  private constructor(pool: Pool, selection: CheckpointSelection, largestSize: number) {
    this.#pool = pool;
    this.#selection = selection;
    this.#largestSize = largestSize;
  }

  /** Starts reading. Call it before the log's extent is read, so that no valid checkpoint covers more rows than the extent. */
  static async open(pool: Pool, selection: CheckpointSelection): Promise<StoredCheckpoints> {
    const latest = await inTenantTransaction(pool, selection.tenantId, (tx) => findLatestCheckpoint(tx, selection.log));
    return new StoredCheckpoints(pool, selection, latest?.size ?? -1);
  }

  /** Returns the next checkpoints, up to a size. Stops at an invalid checkpoint, and returns its contradiction too. */
  async readUpTo(size: number): Promise<{ heads: KeptHead[]; contradiction: Contradiction | undefined }> {
    const heads: KeptHead[] = [];
    for (;;) {
      const beyond = this.#page.findIndex((head) => head.size > size);
      heads.push(...this.#page.splice(0, beyond === -1 ? this.#page.length : beyond));
      if (beyond !== -1 || this.#readSize >= this.#largestSize) return { heads, contradiction: undefined };
      const contradiction = await this.#readPage();
      if (contradiction !== undefined) return { heads, contradiction };
    }
  }

  async #readPage(): Promise<Contradiction | undefined> {
    const { tenantId, log } = this.#selection;
    const rows = await inTenantTransaction(this.#pool, tenantId, (tx) =>
      readCheckpointsPage(tx, log, this.#readSize, this.#largestSize),
    );
    this.#readSize = rows.at(-1)?.size ?? this.#largestSize;
    for (const row of rows) {
      const source = `the stored checkpoint of size ${row.size}`;
      const reason = checkpointFault(row, this.#selection);
      if (reason !== undefined) return { source, size: row.size, reason };
      this.#page.push({ source, size: row.size, root: row.root });
    }
    return undefined;
  }
}

/**
 * Why a stored checkpoint is not valid; undefined for a valid one. It must belong to this log, match its columns, and be signed by one of
 * the keys, if keys are given.
 */
export function checkpointFault(
  { size, root, note }: { size: number; root: Uint8Array; note: string },
  { tenantId, log, keys }: CheckpointSelection,
): string | undefined {
  const opened = keys === undefined ? parseWithoutKeys(note) : openCheckpoint(note, keys, verifyEd25519, sha256);
  if ('fault' in opened) return `${opened.fault}: this instance did not sign it`;
  const { head } = opened;
  if (head.origin !== originOf(tenantId, log))
    return `its origin is ${JSON.stringify(head.origin)}: it is a checkpoint of another tenant or log`;
  if (head.size !== size || !sameBytes(head.root, root)) return 'its columns differ from its note: they were altered';
  return undefined;
}

function parseWithoutKeys(note: string) {
  const head = parseCheckpointText(noteText(note));
  return head === undefined ? { fault: 'it does not have the form of a checkpoint' } : { head };
}
