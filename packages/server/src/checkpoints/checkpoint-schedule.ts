import type { Logger } from 'pino';
import { isDatabaseUnavailable } from '../database/pool.ts';
import type { Pools } from '../database/pools.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { type CheckpointRequest, makeCheckpoint } from '../ledger/checkpoints.ts';
import { MemoryFolderError } from '../ledger/memory-folder-error.ts';
import { readSealedHead } from '../ledger/sealed-heads.ts';
import { type InstanceSigner, noteKeysOf } from '../secrets/instance-signer.ts';
import { LOG_NAMES, type LogName } from '../storage/log-heads.ts';
import { listSigningKeys } from '../storage/signing-keys.ts';
import { listTenantIds } from '../storage/tenants.ts';
import type { StoredCheckpoint } from '../storage/tree.ts';
import { CheckpointCopier } from './checkpoint-copier.ts';
import type { CheckpointSink } from './checkpoint-folder.ts';

/** The longest interval between two rounds over all logs, unless a round takes longer. */
const ROUND_MS_MAX = 10_000;

/** Signs checkpoints: on request, and periodically for each log that grew. No new checkpoint is signed while the clock is unsafe. */
export interface CheckpointSchedule {
  /** Returns the newest checkpoint of the log, if it covers at least `rows` rows or all rows. Otherwise signs a new one over all rows. */
  checkpointOver(tenantId: string, log: LogName, rows: number): Promise<StoredCheckpoint>;
  stop(): void;
}

/**
 * Starts the schedule.
 * @param everySeconds the minimum seconds between two periodic checkpoints of a log that grows; undefined to sign only on request.
 * @param sink receives a copy of each checkpoint; undefined to store checkpoints only in the database.
 */
export function scheduleCheckpoints(
  { ledgerPool, signer, clock }: Pick<Pools, 'ledgerPool' | 'clock'> & { signer: InstanceSigner },
  { everySeconds, sink, log: logger }: { everySeconds: number | undefined; sink: CheckpointSink | undefined; log: Logger },
): CheckpointSchedule {
  const make = (tenantId: string, request: CheckpointRequest): Promise<StoredCheckpoint> =>
    makeCheckpoint(ledgerPool, tenantId, signer.keys, request);
  const readKeys = async () => noteKeysOf(signer.instanceId, await listSigningKeys(ledgerPool));
  const copier = sink === undefined ? undefined : new CheckpointCopier(ledgerPool, { sink, readKeys, logger });
  const stopping = new AbortController();
  const ages = new CheckpointAges();
  const round = async (seconds: number) => {
    if (clock.fault() !== undefined) return;
    let isMemoryReported = false;
    for (const id of await listTenantIds(ledgerPool)) {
      for (const log of LOG_NAMES) {
        const size = await makeIfDue(id, log, seconds).catch((error: unknown): undefined => {
          // If the database is unavailable, the whole round fails, with one warning. The next round tries again.
          if (isDatabaseUnavailable(error)) throw error;
          const isMemoryError = error instanceof MemoryFolderError;
          // The memory folder usually fails for all logs, so a round reports it once. Checkpoints in the database are still copied to the
          // sink.
          if (isMemoryError && isMemoryReported) return;
          isMemoryReported ||= isMemoryError;
          const what = isMemoryError ? 'a checkpoint is not stored in the memory folder' : 'no checkpoint was made';
          logger.error({ err: error, tenantId: id, log }, what);
        });
        if (size !== 0) await copier?.copyNew(id, log, size);
      }
    }
  };
  /**
   * Makes a checkpoint if the log has grown and its newest checkpoint is old enough. Returns the size of the newest checkpoint; 0 for an
   * empty log.
   */
  const makeIfDue = async (tenantId: string, log: LogName, seconds: number): Promise<number> => {
    const head = await inTenantTransaction(ledgerPool, tenantId, (tx) => readSealedHead(tx, log));
    if (head.seq === 0) return 0;
    const isRecent = (newest: StoredCheckpoint) => ages.secondsOf(tenantId, log, newest) < seconds;
    return (await make(tenantId, { log, isRecent })).size;
  };
  if (everySeconds !== undefined) repeat(everySeconds, () => round(everySeconds), { logger, signal: stopping.signal });
  return {
    checkpointOver: async (tenantId, log, rows) => {
      const checkpoint = await make(tenantId, { log, rows });
      // Not awaited: the request does not wait for the disk of the sink.
      void copier?.copyNew(tenantId, log, checkpoint.size);
      return checkpoint;
    },
    stop: () => stopping.abort(),
  };
}

/**
 * Measures the age of the newest checkpoint of each log. The time in the row of the checkpoint is not signed. Somebody could move this time
 * forward repeatedly, or it can be in the future because a clock was wrong. So the time since this process first saw the checkpoint is also
 * used.
 */
class CheckpointAges {
  /** The newest checkpoint of each log, with the time when this process first saw it, in milliseconds of the monotonic clock. */
  readonly #newest = new Map<string, { size: number; atMs: number }>();

  /** The age of a log's newest checkpoint: since the time in its row, or since this process first saw it, whichever is longer. */
  secondsOf(tenantId: string, log: LogName, { size, ageSeconds }: StoredCheckpoint): number {
    const key = `${tenantId} ${log}`;
    let newest = this.#newest.get(key);
    // A smaller size means that the row of the newest checkpoint was deleted. Then `atMs` is kept, so that the age does not restart at 0.
    if (newest === undefined || size > newest.size) {
      newest = { size, atMs: performance.now() };
      this.#newest.set(key, newest);
    }
    return Math.max(ageSeconds, (performance.now() - newest.atMs) / 1000);
  }
}

/**
 * Starts a round at each interval until the schedule is stopped. Rounds do not overlap: while one is running, the next one is skipped. A
 * round that fails after the stop is not reported, because the stop ends its connections.
 */
function repeat(seconds: number, round: () => Promise<void>, { logger, signal }: { logger: Logger; signal: AbortSignal }): void {
  let isRunning = false;
  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    await round().catch((error: Error) => {
      if (!signal.aborted) logger.warn({ reason: error.message }, 'the round of checkpoints failed; the next round tries again');
    });
    isRunning = false;
  };
  const timer = setInterval(run, Math.min(seconds * 1000, ROUND_MS_MAX)).unref();
  signal.addEventListener('abort', () => clearInterval(timer));
}
