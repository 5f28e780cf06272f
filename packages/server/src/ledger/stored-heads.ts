import type { Contradiction } from '@countersign/core/domain/chain-report';
import { openCheckpoint, originOf, parseCheckpointText } from '@countersign/core/domain/checkpoint';
import { type NoteKey, sameBytes } from '@countersign/core/domain/signed-note';
import type { KeptHead } from '@countersign/core/domain/tree-verifier';
import type { Pool } from 'pg';
import { sha256, verifyEd25519 } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import type { LogName } from '../storage/log-heads.ts';
import { findLatestCheckpoint, readCheckpointsPage } from '../storage/tree.ts';

/** Which checkpoints. */
interface StoredOf {
  tenantId: string;
  log: LogName;
  /** Who may have signed them; undefined to take them unsigned. */
  keys: readonly NoteKey[] | undefined;
}

/** The stored checkpoints of a log, by size and as a walk needs them: there is one a minute, for years. */
export class StoredHeads {
  readonly #pool: Pool;
  readonly #of: StoredOf;
  /** The largest when the walk began. */
  readonly #last: number;
  #page: KeptHead[] = [];
  #read = -1;

  private constructor(pool: Pool, of: StoredOf, last: number) {
    this.#pool = pool;
    this.#of = of;
    this.#last = last;
  }

  /** To be opened before the log's extent is read: then none of these may cover more rows than there are. */
  static async open(pool: Pool, of: StoredOf): Promise<StoredHeads> {
    const latest = await inTenantTransaction(pool, of.tenantId, (tx) => findLatestCheckpoint(tx, of.log));
    return new StoredHeads(pool, of, latest?.size ?? -1);
  }

  /** Those that were not returned yet, up to a size; or the first one that is not valid. */
  async upTo(size: number): Promise<{ heads: KeptHead[]; contradiction: Contradiction | undefined }> {
    const heads: KeptHead[] = [];
    for (;;) {
      const beyond = this.#page.findIndex((head) => head.size > size);
      heads.push(...this.#page.splice(0, beyond === -1 ? this.#page.length : beyond));
      if (beyond !== -1 || this.#read >= this.#last) return { heads, contradiction: undefined };
      const contradiction = await this.#readPage();
      if (contradiction !== undefined) return { heads, contradiction };
    }
  }

  async #readPage(): Promise<Contradiction | undefined> {
    const { tenantId, log } = this.#of;
    const rows = await inTenantTransaction(this.#pool, tenantId, (tx) => readCheckpointsPage(tx, log, this.#read, this.#last));
    this.#read = rows.at(-1)?.size ?? this.#last;
    for (const row of rows) {
      const source = `the stored checkpoint of size ${row.size}`;
      const reason = this.#fault(row);
      if (reason !== undefined) return { source, size: row.size, reason };
      this.#page.push({ source, size: row.size, root: row.root });
    }
    return undefined;
  }

  #fault({ size, root, note }: { size: number; root: Uint8Array; note: string }): string | undefined {
    const { tenantId, log, keys } = this.#of;
    const opened = keys === undefined ? unsigned(note) : openCheckpoint(note, keys, verifyEd25519, sha256);
    if ('fault' in opened) return `${opened.fault}: this installation did not sign it`;
    const { head } = opened;
    if (head.origin !== originOf(tenantId, log))
      return `it is of ${JSON.stringify(head.origin)}: the checkpoint of another tenant or log`;
    if (head.size !== size || !sameBytes(head.root, root)) return 'its columns say otherwise than its note: they were altered';
    return undefined;
  }
}

function unsigned(note: string) {
  const head = parseCheckpointText(note.slice(0, note.lastIndexOf('\n\n') + 1));
  return head === undefined ? { fault: 'it does not have the form of a checkpoint' } : { head };
}
