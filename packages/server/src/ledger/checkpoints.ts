import { originOf, signCheckpoint } from '@countersign/core/domain/checkpoint';
import { addSignatures, type NoteSigner, sameBytes } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { sha256 } from '../crypto/digests.ts';
import { requireSeals } from '../database/seals.ts';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import type { LogName, ReadHead } from '../storage/log-heads.ts';
import { findLatestCheckpoint, insertCheckpoint, type StoredCheckpoint } from '../storage/tree.ts';
import { findContinuityFault, headStoreOf, type KeptHead, readStore, refuseLog } from './head-memory.ts';
import { isExtension, LogRewrittenError, openFrontier, readStoredRoot } from './log-tree.ts';
import { readSealedHead } from './sealed-heads.ts';
import { checkpointFault } from './stored-checkpoints.ts';

/** A request for a checkpoint. Without the optional members, the checkpoint must cover all rows of the log. */
export interface CheckpointRequest {
  log: LogName;
  /** Whether the newest checkpoint is recent enough, even if it does not cover all rows. */
  isRecent?: ((newest: StoredCheckpoint) => boolean) | undefined;
  /** The newest checkpoint is also enough if it covers this many rows. */
  rows?: number | undefined;
  /** Whether the operator has accepted a restore, so that the HeadStore may replace a larger checkpoint. */
  isRestoreAccepted?: boolean | undefined;
}

/**
 * Returns the newest checkpoint of the log if it is enough, otherwise signs a new one. In both cases the head must continue the newest
 * checkpoint (`confirmCheckpoint`) and the checkpoint in the HeadStore. Before it signs, it also compares the root of the head with
 * the root over the stored rows and tree nodes.
 * @param kept the checkpoint in the HeadStore, read before the transaction began; undefined if there is none, or if a restore is accepted.
 * @throws LogRewrittenError if the head or the newest checkpoint is not valid, or if one of these comparisons finds a difference. In these
 * cases nothing is signed. Also thrown if the database did not store the new checkpoint, which is then not returned.
 * @throws ClockUnsafeError if it must sign a new checkpoint and the clocks cannot be used.
 */
export async function ensureCheckpoint(
  tx: Transaction,
  signers: readonly NoteSigner[],
  request: CheckpointRequest,
  kept: KeptHead | undefined,
): Promise<StoredCheckpoint> {
  const { log, isRecent = () => false, rows = Infinity } = request;
  const { head, latest } = await readNewest(tx, log, signers);
  const fault = kept && (await findContinuityFault(tx, log, { ...kept, root: () => kept.root }, head.tree));
  if (kept !== undefined && fault !== undefined) {
    refuseLog(tx, log, kept);
    throw new LogRewrittenError(`the head of the log ${log} of tenant ${tx.tenantId}: ${fault}`);
  }
  if (latest !== undefined && (latest.size >= Math.min(head.seq, rows) || isRecent(latest))) return latest;
  tx.clock.requireSafe();
  const root = openFrontier(head.tree).root();
  if (!sameBytes(await readStoredRoot(tx, log, head.seq), root))
    throw new LogRewrittenError(`the head of the log ${log} of tenant ${tx.tenantId} does not match the tree of its rows`);
  const note = signCheckpoint({ origin: originOf(tx.tenantId, log), size: head.seq, root }, signers, sha256);
  await insertCheckpoint(tx, log, { size: head.seq, root, note });
  const stored = (await readNewest(tx, log, signers)).latest;
  if (stored !== undefined && stored.size >= head.seq) return stored;
  throw new LogRewrittenError(
    `the checkpoint of ${head.seq} rows of the log ${log} of tenant ${tx.tenantId} was not stored: a trigger or rule in the database ` +
      'drops or changes it',
  );
}

/**
 * Does the same as `ensureCheckpoint`, in a separate transaction. If a HeadStore is set, first reads its checkpoint, unless a restore is
 * accepted. Stores the returned checkpoint there before it returns.
 */
export async function makeCheckpoint(
  pool: Pool,
  tenantId: string,
  signers: readonly NoteSigner[],
  request: CheckpointRequest,
): Promise<StoredCheckpoint> {
  const owner = { seals: requireSeals(pool), tenantId };
  // The HeadStore is read before the head, so its checkpoint covers no later rows. It is not read in the transaction: if the file system
  // does not respond, no connection of the database waits for it.
  const kept = request.isRestoreAccepted === true ? undefined : await readStore(owner, request.log);
  const checkpoint = await inTenantTransaction(pool, tenantId, (tx) => ensureCheckpoint(tx, signers, request, kept));
  await headStoreOf(pool)?.write(tenantId, request.log, checkpoint, request);
  return checkpoint;
}

/**
 * Reads the head of a log and its newest checkpoint. The row of the checkpoint is untrusted, even if a current key has signed it: after an
 * accepted restore, somebody can insert a checkpoint of the abandoned rows. So the checkpoint is returned only if the sealed head extends
 * it.
 *
 * A checkpoint is stored with the signatures of the keys that were current when it was signed. A later key adds its signature here. So a
 * reader who has only that key can verify the log, even if the log has no new rows.
 * @throws LogRewrittenError if the head is not valid, or if the checkpoint does not belong to this log.
 */
async function readNewest(
  tx: Transaction,
  log: LogName,
  signers: readonly NoteSigner[],
): Promise<{ head: ReadHead; latest: StoredCheckpoint | undefined }> {
  // The checkpoint is read before the head. So it is not larger than the head, even if another server has just signed it.
  const [latest, head] = await Promise.all([findLatestCheckpoint(tx, log), readSealedHead(tx, log)]);
  return { head, latest: latest && (await confirmCheckpoint(tx, log, latest, { head, signers })) };
}

/**
 * Returns a stored checkpoint with the signatures of all current keys. Throws like `readNewest`.
 * @param context.head the sealed head of the log, read after the checkpoint.
 */
export async function confirmCheckpoint<Stored extends { size: number; root: Uint8Array; note: string }>(
  tx: Transaction,
  log: LogName,
  stored: Stored,
  context: { head: ReadHead; signers: readonly NoteSigner[] },
): Promise<Stored> {
  const { head, signers } = context;
  const fault = checkpointFault(stored, { tenantId: tx.tenantId, log, keys: undefined });
  if (fault !== undefined)
    throw new LogRewrittenError(
      `the stored checkpoint of size ${stored.size} of the log ${log} of tenant ${tx.tenantId} is not valid: ${fault}`,
    );
  if (!(await isExtension(tx, log, stored, { size: head.seq, root: openFrontier(head.tree).root() })))
    throw new LogRewrittenError(`the log ${log} of tenant ${tx.tenantId} does not match its checkpoint of size ${stored.size}`);
  return { ...stored, note: addSignatures(stored.note, signers, sha256) };
}
