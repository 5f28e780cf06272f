import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { inTenantTransaction } from '../database/transaction.ts';
import type { LogName } from '../storage/log-heads.ts';
import { findCheckpoint, readCheckpointsPage } from '../storage/tree.ts';
import type { CheckpointSink } from './checkpoint-folder.ts';

/**
 * Brings the stored checkpoints to their sink, in the order of their sizes and each of them, whichever server has signed it: one that was
 * not written because the sink was away is not passed over for those that came after it.
 */
export class Anchoring {
  readonly #pool: Pool;
  readonly #sink: CheckpointSink;
  readonly #logger: Logger;
  /** Up to where each log is in the sink, by tenant and log. */
  readonly #kept = new Map<string, number>();
  /** What is being brought now: one turn a log at a time. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(pool: Pool, sink: CheckpointSink, logger: Logger) {
    this.#pool = pool;
    this.#sink = sink;
    this.#logger = logger;
  }

  /**
   * Writes whatever the sink has not yet. Never rejects: what cannot be written is said in the log and tried again the next time.
   * @param newest size of the log's newest checkpoint, as far as it is known: nothing is read when the sink has that one.
   */
  catchUp(tenantId: string, log: LogName, newest = Number.POSITIVE_INFINITY): Promise<void> {
    const place = placeOf(tenantId, log);
    const turn = (this.#turns.get(place) ?? Promise.resolve()).then(() =>
      this.#bring(tenantId, log, newest).catch((error: unknown) => {
        this.#kept.delete(place);
        this.#logger.error({ err: error, tenantId, log }, 'a checkpoint was not written to COUNTERSIGN_CHECKPOINT_DIR');
      }),
    );
    this.#turns.set(place, turn);
    void turn.then(() => this.#turns.get(place) === turn && this.#turns.delete(place));
    return turn;
  }

  async #bring(tenantId: string, log: LogName, newest: number): Promise<void> {
    const place = placeOf(tenantId, log);
    let kept = this.#kept.get(place) ?? (await this.#keptBefore(tenantId, log));
    this.#kept.set(place, kept);
    while (kept < newest) {
      const after = kept;
      const page = await inTenantTransaction(this.#pool, tenantId, (tx) =>
        readCheckpointsPage(tx, log, after, Number.MAX_SAFE_INTEGER),
      );
      if (page.length === 0) return;
      for (const checkpoint of page) {
        await this.#sink.keep(tenantId, log, checkpoint);
        kept = checkpoint.size;
        this.#kept.set(place, kept);
      }
    }
  }

  /** The largest that is in the sink and stored here; -1 when there is none. What somebody else has put there makes nothing be passed over. */
  async #keptBefore(tenantId: string, log: LogName): Promise<number> {
    for (const size of await this.#sink.sizes(tenantId, log)) {
      if (await inTenantTransaction(this.#pool, tenantId, (tx) => findCheckpoint(tx, log, size))) return size;
    }
    return -1;
  }
}

const placeOf = (tenantId: string, log: LogName): string => `${tenantId} ${log}`;
