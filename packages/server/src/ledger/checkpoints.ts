import { originOf, signCheckpoint } from '@countersign/core/domain/checkpoint';
import { addSignatures, type NoteSigner, sameBytes } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { sha256 } from '../crypto/digests.ts';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import type { LogName } from '../storage/log-heads.ts';
import { findLatestCheckpoint, insertCheckpoint, type StoredCheckpoint } from '../storage/tree.ts';
import { keptHeads } from './head-memory.ts';
import { LogRewrittenError, openFrontier, storedRoot } from './log-tree.ts';
import { readSealedHead } from './sealed-heads.ts';

/** A checkpoint over all rows of a log, or over fewer when the last one is young enough. */
export interface CheckpointDemand {
  log: LogName;
  /** Do without a new one while the last is younger. */
  youngerThanSeconds?: number | undefined;
  /** Or covers this many rows. Without either: one over every row there is. */
  rows?: number | undefined;
}

/**
 * The log's checkpoint: the last one if it covers every row (or is young enough), a new one otherwise.
 * Before signing, the tree is held against the stored rows and against the last checkpoint: nothing is signed that is not what was
 * appended, or that contradicts what was signed before. Throws ClockUnsafeError where a new one would get a wrong time.
 */
export async function checkpointOf(
  tx: Transaction,
  signers: readonly NoteSigner[],
  demand: CheckpointDemand,
): Promise<StoredCheckpoint> {
  const { log, youngerThanSeconds = 0, rows = Infinity } = demand;
  const [head, latest] = await Promise.all([readSealedHead(tx, log), findLatestCheckpoint(tx, log)]);
  if (latest !== undefined && (latest.size >= Math.min(head.seq, rows) || isYounger(latest, youngerThanSeconds)))
    return signedByAll(latest, signers);
  tx.clock.requireSafe();
  const root = openFrontier(head.tree).root();
  const [rootOfRows, rootBefore] = await Promise.all([
    storedRoot(tx, log, head.seq),
    latest === undefined ? undefined : storedRoot(tx, log, latest.size),
  ]);
  if (latest !== undefined && !sameBytes(rootBefore!, latest.root))
    throw new LogRewrittenError(
      `the log ${log} of tenant ${tx.tenantId} is not the one of its checkpoint of size ${latest.size}`,
    );
  if (!sameBytes(rootOfRows, root))
    throw new LogRewrittenError(`the head of the log ${log} of tenant ${tx.tenantId} has not the tree of its rows`);
  const note = signCheckpoint({ origin: originOf(tx.tenantId, log), size: head.seq, root }, signers, sha256);
  await insertCheckpoint(tx, log, { size: head.seq, root, note });
  const kept = await findLatestCheckpoint(tx, log);
  return signedByAll(kept!, signers);
}

/** The same in a separate transaction. It is stored outside the database too, if configured, before it is returned. */
export async function makeCheckpoint(
  pool: Pool,
  tenantId: string,
  signers: readonly NoteSigner[],
  demand: CheckpointDemand,
): Promise<StoredCheckpoint> {
  const [checkpoint, kept] = await inTenantTransaction(
    pool,
    tenantId,
    async (tx) => [await checkpointOf(tx, signers, demand), keptHeads(tx)] as const,
  );
  await kept?.keep(tenantId, demand.log, checkpoint);
  return checkpoint;
}

/** A time in the future, which a wrong clock wrote, says nothing about the age: it must not end the checkpoints until then. */
const isYounger = ({ ageSeconds }: StoredCheckpoint, seconds: number): boolean => ageSeconds >= 0 && ageSeconds < seconds;

/**
 * A checkpoint is stored as it was signed first. A key that came later signs it too whenever it is given out: who has only that one must be
 * able to believe a log that has been quiet since.
 */
const signedByAll = (checkpoint: StoredCheckpoint, signers: readonly NoteSigner[]): StoredCheckpoint => ({
  ...checkpoint,
  note: addSignatures(checkpoint.note, signers, sha256),
});
