import { readFileSync, statSync } from 'node:fs';
import { openCheckpoint, originOf, type TreeHead } from '@countersign/core/domain/checkpoint';
import type { OpenDatabase } from '../app/open-database.ts';
import { sha256, verifyEd25519 } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { isExtension, LogRewrittenError } from '../ledger/log-tree.ts';
import { noteKeysOf } from '../secrets/instance-signer.ts';
import type { LogName } from '../storage/log-heads.ts';
import { listSigningKeys } from '../storage/signing-keys.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';

/**
 * Refuses to replace a checkpoint that the new one does not extend: the old one may be the only evidence of an earlier state. Does nothing
 * if there is no regular file at the path.
 * @param newHead the size and root of the new checkpoint.
 * @throws RuleViolationError if the file is not a checkpoint of this log and instance.
 * @throws LogRewrittenError if the log does not continue the checkpoint in the file.
 */
export async function requireExtension(
  path: string,
  database: OpenDatabase,
  { tenantId, log, newHead }: { tenantId: string; log: LogName; newHead: { size: number; root: Uint8Array } },
): Promise<void> {
  const note = readText(path);
  if (note === undefined) return;
  const keptHead = await readKeptHead(note, database, originOf(tenantId, log));
  const name = JSON.stringify(path);
  if (keptHead === undefined)
    throw new RuleViolationError(
      `${name} exists and is not a checkpoint of this log and instance; choose another name, or move the file`,
    );
  if (!(await inTenantTransaction(database.pool, tenantId, (tx) => isExtension(tx, log, keptHead, newHead))))
    throw new LogRewrittenError(
      `the log ${log} does not continue the checkpoint in ${name}: the file was not changed, keep it as evidence`,
    );
}

/** The text of a file; undefined if there is no regular file at the path. */
const readText = (path: string): string | undefined =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(path, 'utf8') : undefined;

async function readKeptHead(note: string, { signer, ledgerPool }: OpenDatabase, origin: string): Promise<TreeHead | undefined> {
  const keys = noteKeysOf(signer.instanceId, await listSigningKeys(ledgerPool));
  const openResult = openCheckpoint(note, keys, verifyEd25519, sha256);
  return 'head' in openResult && openResult.head.origin === origin ? openResult.head : undefined;
}
