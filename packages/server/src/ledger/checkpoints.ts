import { originOf, signCheckpoint } from '@countersign/core/domain/checkpoint';
import { type NoteSigner, sameBytes } from '@countersign/core/domain/signed-note';
import type { Transaction } from '../database/transaction.ts';
import { sha256 } from '../digests.ts';
import { type LogName, readHead } from '../storage/ledger.ts';
import { findLatestCheckpoint, insertCheckpoint, type StoredCheckpoint } from '../storage/tree.ts';
import { lockLogs } from './advance.ts';
import { LogRewrittenError, openFrontier, storedRoot } from './log-tree.ts';

/** A checkpoint over all rows of a log, or over fewer when the last one is young enough. */
export interface CheckpointDemand {
  log: LogName;
  /** Do without a new one while the last is younger. 0: as fresh as the rows. */
  youngerThanSeconds: number;
}

/**
 * The log's checkpoint: the last one if it covers every row (or is young enough), a new one otherwise.
 * Before signing, the tree is held against the last checkpoint: a log never signs what contradicts what it has signed before.
 */
export async function checkpointOf(
  tx: Transaction,
  signers: readonly NoteSigner[],
  demand: CheckpointDemand,
): Promise<StoredCheckpoint> {
  const { log, youngerThanSeconds } = demand;
  const [read, latest] = await Promise.all([readHead(tx, log), findLatestCheckpoint(tx, log)]);
  if (read === undefined) throw new Error(`tenant ${tx.tenantId} has no head of the log ${log}`);
  if (latest !== undefined && (latest.size >= read.seq || latest.ageSeconds < youngerThanSeconds)) return latest;
  const head = read.tree.size === read.seq ? read : (await lockLogs(tx, [log]))[log];
  if (latest !== undefined && !sameBytes(await storedRoot(tx, log, latest.size), latest.root)) {
    throw new LogRewrittenError(
      `the log ${log} of tenant ${tx.tenantId} is not the one of its checkpoint of size ${latest.size}`,
    );
  }
  const root = openFrontier(head.tree).root();
  const note = signCheckpoint({ origin: originOf(tx.tenantId, log), size: head.seq, root }, signers, sha256);
  await insertCheckpoint(tx, log, { size: head.seq, root, note });
  const kept = await findLatestCheckpoint(tx, log);
  return kept!;
}
