import type { NoteKey } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { inTenantTransaction } from '../database/transaction.ts';
import { checkpointFault } from '../ledger/stored-checkpoints.ts';
import type { LogName } from '../storage/log-heads.ts';
import { findCheckpoint, readCheckpointsPage } from '../storage/tree.ts';
import type { CheckpointSink } from './checkpoint-folder.ts';

/**
 * Copies stored checkpoints to the sink in the order of their sizes, including the checkpoints of other servers. A checkpoint that could
 * not be written is not skipped: it is written before the later ones. A row that is not valid (`checkpointFault`) is logged and not copied.
 */
export class CheckpointCopier {
  readonly #pool: Pool;
  readonly #sink: CheckpointSink;
  readonly #readKeys: () => Promise<readonly NoteKey[]>;
  readonly #logger: Logger;
  /** The size of the largest checkpoint in the sink, by tenant and log. */
  readonly #copiedSizes = new Map<string, number>();
  /** The last requested copy operation of each log, until it ends. The next operation of the log waits for it. */
  readonly #copying = new Map<string, Promise<void>>();

  /** @param readKeys returns the keys of the instance, including retired ones. */
  constructor(
    pool: Pool,
    { sink, readKeys, logger }: { sink: CheckpointSink; readKeys: () => Promise<readonly NoteKey[]>; logger: Logger },
  ) {
    this.#pool = pool;
    this.#sink = sink;
    this.#readKeys = readKeys;
    this.#logger = logger;
  }

  /**
   * Copies the checkpoints that are larger than the largest one in the sink. Never rejects: a failure is logged, and the next call tries
   * again.
   * @param newestSize size of the newest checkpoint of the log, if known. If that checkpoint is known to be in the sink, nothing is read.
   */
  copyNew(tenantId: string, log: LogName, newestSize = Number.POSITIVE_INFINITY): Promise<void> {
    const key = keyOf(tenantId, log);
    const copying = (this.#copying.get(key) ?? Promise.resolve()).then(() =>
      this.#copy(tenantId, log, newestSize).catch((error: unknown) => {
        this.#copiedSizes.delete(key);
        this.#logger.error(
          { err: error, tenantId, log },
          'a checkpoint of this log was not read, or was not written to COUNTERSIGN_CHECKPOINT_DIR',
        );
      }),
    );
    this.#copying.set(key, copying);
    void copying.then(() => this.#copying.get(key) === copying && this.#copying.delete(key));
    return copying;
  }

  async #copy(tenantId: string, log: LogName, newestSize: number): Promise<void> {
    const key = keyOf(tenantId, log);
    let copiedSize = this.#copiedSizes.get(key) ?? (await this.#largestInSink(tenantId, log));
    this.#copiedSizes.set(key, copiedSize);
    let readUpTo = copiedSize;
    while (copiedSize < newestSize) {
      const after = readUpTo;
      const page = await inTenantTransaction(this.#pool, tenantId, (tx) =>
        readCheckpointsPage(tx, log, after, Number.MAX_SAFE_INTEGER),
      );
      if (page.length === 0) return;
      const keys = await this.#readKeys();
      for (const checkpoint of page) {
        readUpTo = checkpoint.size;
        const fault = checkpointFault(checkpoint, { tenantId, log, keys });
        if (fault !== undefined) {
          this.#logger.error({ tenantId, log, size: checkpoint.size, fault }, NOT_COPIED);
          continue; // `copiedSize` stays lower: after the row is deleted, valid checkpoints of smaller sizes may be stored.
        }
        await this.#write(tenantId, log, checkpoint);
        copiedSize = checkpoint.size;
        this.#copiedSizes.set(key, copiedSize);
      }
    }
  }

  async #write(tenantId: string, log: LogName, checkpoint: { size: number; note: string }): Promise<void> {
    const file = await this.#sink.write(tenantId, log, checkpoint);
    if (file !== undefined) this.#logger.warn({ tenantId, log, size: checkpoint.size, file }, BOTH_KEPT);
  }

  /**
   * The size of the largest checkpoint that is in the sink and in the database; -1 if there is none. A foreign file in the sink, or
   * a checkpoint that was abandoned in a restore, does not count. Otherwise later checkpoints would not be copied.
   */
  async #largestInSink(tenantId: string, log: LogName): Promise<number> {
    for (const size of await this.#sink.sizes(tenantId, log)) {
      const storedCheckpoint = await inTenantTransaction(this.#pool, tenantId, (tx) => findCheckpoint(tx, log, size));
      if (storedCheckpoint !== undefined && (await this.#sink.has(tenantId, log, { size, note: storedCheckpoint.note })))
        return size;
    }
    return -1;
  }
}

const BOTH_KEPT =
  'COUNTERSIGN_CHECKPOINT_DIR has another checkpoint of this size, for example from before a restore; both are kept';

const NOT_COPIED =
  'a stored checkpoint was not copied to COUNTERSIGN_CHECKPOINT_DIR, because it is not valid; run `ledger verify`';

const keyOf = (tenantId: string, log: LogName): string => `${tenantId} ${log}`;
