import { RESTORE_ACCEPTED } from '@countersign/core/domain/accepted-restore';
import { toBase64 } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEntries, entryOf } from '../ledger/append.ts';
import { acceptHead, findContinuityFault, headStore, type KeptHead } from '../ledger/head-memory.ts';
import { isExtension, LogRewrittenError, openFrontier, readStoredRoot } from '../ledger/log-tree.ts';
import { sealFault } from '../ledger/sealed-heads.ts';
import type { ServiceAction } from '../ledger/service-actions.ts';
import { LOG_NAMES, type LogName, readHead, type StoredHead } from '../storage/log-heads.ts';
import { RuleViolationError } from './rule-violation.ts';

/** A log's head in an entry of the ledger. */
interface NamedHead {
  size: number;
  /** Base64. */
  root: string;
}

/** The restored logs, each with its abandoned and its restored head. */
export type RestoredLogs = Partial<Record<LogName, { abandoned: NamedHead; restored: NamedHead }>>;

/** The action of the entry that accepts a restore. */
const ACTION = RESTORE_ACCEPTED satisfies ServiceAction;

/**
 * Accepts that an older state of a workspace's logs was restored. One entry of the audit ledger names the logs that do not continue from
 * their remembered checkpoints. For each of these logs, the entry has the abandoned head and the head from which the log continues. The
 * caller must then make checkpoints, which replace the remembered ones.
 * @throws RuleViolationError if no log contradicts its remembered checkpoint, if there is no memory folder, if a head is missing or not
 * valid (`sealFault`), or if the rows of a log that contradicts its checkpoint do not match its head.
 * @param write false to return the heads without writing the entry.
 */
export async function acceptRestore(pool: Pool, tenantId: string, { write }: { write: boolean }): Promise<RestoredLogs> {
  return inTenantTransaction(pool, tenantId, async (tx) => {
    if (headStore(tx) === undefined)
      throw new RuleViolationError(
        'there is no memory folder (COUNTERSIGN_MEMORY_DIR), so there are no remembered checkpoints to compare the logs with',
      );
    const logs: RestoredLogs = {};
    for (const log of LOG_NAMES) {
      const head = await readSealedHead(tx, log);
      const remembered = await headStore(tx)!.latest(tenantId, log);
      if (remembered !== undefined && (await contradictsCheckpoint(tx, log, remembered, head)))
        logs[log] = {
          abandoned: entryHead(remembered),
          restored: entryHead({ size: head.seq, root: openFrontier(head.tree).root() }),
        };
      if (write) acceptHead(tx, log, head.tree);
    }
    if (Object.keys(logs).length === 0)
      throw new RuleViolationError(
        'no log of this workspace contradicts its remembered checkpoint, so there is no restore to accept',
      );
    if (!write) return logs;
    const { audit } = await lockLogs(tx, ['audit']);
    const entry = entryOf({ recorded_by: 'operator', actor: 'operator', action: ACTION, metadata: { logs } });
    appendEntries(tx, audit, [entry]);
    return logs;
  });
}

/**
 * Whether a log contradicts its remembered checkpoint.
 * @throws RuleViolationError if the log contradicts it because stored rows were changed: they do not match the sealed head.
 */
async function contradictsCheckpoint(
  tx: Transaction,
  log: LogName,
  remembered: KeptHead,
  { seq, tree }: StoredHead,
): Promise<boolean> {
  try {
    if ((await findContinuityFault(tx, log, { ...remembered, root: () => remembered.root }, tree)) === undefined) return false;
    const size = Math.min(remembered.size, seq);
    const current = { size, root: await readStoredRoot(tx, log, size) };
    if (await isExtension(tx, log, current, { size: seq, root: openFrontier(tree).root() })) return true;
  } catch (error) {
    if (!(error instanceof LogRewrittenError)) throw error;
  }
  throw new RuleViolationError(`the stored rows of the log ${log} do not match its head: they were changed. ${UNEXPLAINED}`);
}

async function readSealedHead(tx: Transaction, log: LogName): Promise<StoredHead> {
  const head = await readHead(tx, log);
  const fault = head === undefined ? 'it is missing' : sealFault(tx, log, head);
  if (head === undefined || fault !== undefined)
    throw new RuleViolationError(`the head of the log ${log}: ${fault}. ${UNEXPLAINED}`);
  return head;
}

const UNEXPLAINED = 'A restore does not explain this; run `ledger verify` for details';

const entryHead = ({ size, root }: KeptHead): NamedHead => ({ size, root: toBase64(root) });
