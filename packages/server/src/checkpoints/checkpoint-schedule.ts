import type { Logger } from 'pino';
import type { Pools } from '../database/pools.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { type CheckpointDemand, makeCheckpoint } from '../ledger/checkpoints.ts';
import type { InstanceSigner } from '../secrets/instance-signer.ts';
import { LOG_NAMES, type LogName, readHead } from '../storage/log-heads.ts';
import { listTenantIds } from '../storage/tenants.ts';
import type { StoredCheckpoint } from '../storage/tree.ts';
import { Anchoring } from './anchoring.ts';
import type { CheckpointSink } from './checkpoint-folder.ts';

const ROUND_MS_MAX = 10_000;

/** Makes checkpoints: those that are asked for, and one a while for each log that grew. While the clocks are unsafe no new one is made. */
export interface CheckpointSchedule {
  /** The log's newest checkpoint if it covers this many rows, and else one over every row there is. */
  over(tenantId: string, log: LogName, rows: number): Promise<StoredCheckpoint>;
  stop(): void;
}

/**
 * Starts keeping checkpoints.
 * @param everySeconds how old a log's last one may be once rows came; undefined for only those that are asked for.
 * @param sink where each one goes besides the database.
 */
export function scheduleCheckpoints(
  { ledgerPool, signer, clock }: Pick<Pools, 'ledgerPool' | 'clock'> & { signer: Pick<InstanceSigner, 'keys'> },
  { everySeconds, sink, log: logger }: { everySeconds: number | undefined; sink: CheckpointSink | undefined; log: Logger },
): CheckpointSchedule {
  const make = (tenantId: string, demand: CheckpointDemand): Promise<StoredCheckpoint> =>
    makeCheckpoint(ledgerPool, tenantId, signer.keys, demand);
  const anchoring = sink === undefined ? undefined : new Anchoring(ledgerPool, sink, logger);
  const round = async (seconds: number) => {
    if (clock.fault() !== undefined) return;
    for (const id of await listTenantIds(ledgerPool)) {
      for (const log of LOG_NAMES) {
        if (!(await hasRows(id, log))) continue;
        const newest = await make(id, { log, youngerThanSeconds: seconds }).catch((error: unknown) =>
          logger.error({ err: error, tenantId: id, log }, 'no checkpoint was made'),
        );
        await anchoring?.catchUp(id, log, newest?.size);
      }
    }
  };
  const hasRows = async (tenantId: string, log: LogName) =>
    (await inTenantTransaction(ledgerPool, tenantId, (tx) => readHead(tx, log)))?.seq !== 0;
  const timer = everySeconds === undefined ? undefined : everyWhile(everySeconds, () => round(everySeconds), logger);
  return {
    over: async (tenantId, log, rows) => {
      const checkpoint = await make(tenantId, { log, rows });
      // Beside the answer and not before it: whoever asks does not wait for somebody else's disk.
      void anchoring?.catchUp(tenantId, log, checkpoint.size);
      return checkpoint;
    },
    stop: () => clearInterval(timer),
  };
}

/** Rounds do not overlap: one that takes longer than the pause lets the next ones go. */
function everyWhile(seconds: number, round: () => Promise<void>, logger: Logger): NodeJS.Timeout {
  let running = false;
  return setInterval(
    async () => {
      if (running) return;
      running = true;
      await round().catch((error: Error) => logger.warn({ reason: error.message }, 'checkpoints wait for the next round'));
      running = false;
    },
    Math.min(seconds * 1000, ROUND_MS_MAX),
  ).unref();
}
