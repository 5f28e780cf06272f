import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { inTenantTransaction } from '../database/transaction.ts';
import { mergeRunIdSegments } from '../storage/run-id-segments.ts';

/**
 * The segments of a workspace are merged after this many batches. Each batch adds a small segment, and a search reads one row for each
 * segment.
 */
const BATCHES_BETWEEN_MERGES = 512;

/**
 * Merges the segments of run IDs of workspaces that send many runs. Housekeeping also merges the segments of every workspace, every ten
 * minutes.
 */
export class RunIdMerging {
  readonly #pool: Pool;
  readonly #log: Logger;
  readonly #batches = new Map<string, number>();
  #merging = Promise.resolve();
  #isStopped = false;

  constructor(pool: Pool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  /** Counts a stored batch of runs. After every BATCHES_BETWEEN_MERGES batches of a workspace, merges its segments. */
  countBatch(tenantId: string): void {
    const batches = (this.#batches.get(tenantId) ?? 0) + 1;
    if (batches < BATCHES_BETWEEN_MERGES) {
      this.#batches.set(tenantId, batches);
      return;
    }
    this.#batches.delete(tenantId);
    void this.merge(tenantId);
  }

  /** Merges the segments of a workspace, one workspace at a time. A failure is logged, and the next merge tries again. */
  merge(tenantId: string): Promise<void> {
    this.#merging = this.#merging.then(async () => {
      try {
        while (!this.#isStopped && (await inTenantTransaction(this.#pool, tenantId, mergeRunIdSegments)));
      } catch (error) {
        if (this.#isStopped) return;
        this.#log.warn({ reason: (error as Error).message, tenantId }, 'the segments of run IDs were not merged this time');
      }
    });
    return this.#merging;
  }

  /** Starts no further transaction. */
  stop(): void {
    this.#isStopped = true;
  }
}
