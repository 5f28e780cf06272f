import { fromBase64 } from '@countersign/core/domain/signed-note';
import type { OpenDatabase } from '../app/open-database.ts';
import type { BackupManifest } from '../backup/manifest.ts';
import { verifyLog } from '../ledger/verify-log.ts';
import { noteKeysOf } from '../secrets/instance-signer.ts';
import { LOG_NAMES } from '../storage/log-heads.ts';
import { listSigningKeys } from '../storage/signing-keys.ts';
import { isValid, sentenceOf } from './verification-verdict.ts';

/** The result of verifying every log of the workspaces in a backup. */
export interface VerificationSummary {
  logs: number;
  /** The number of verified rows in these logs. */
  rows: number;
  /** One line for each log that is not valid. */
  faults: string[];
}

/** Verifies every log of the workspaces in a backup against the heads in the backup, the stored checkpoints and the tables. */
export async function verifyWorkspaces(
  database: OpenDatabase,
  { workspaces, madeAt }: BackupManifest,
  progress: ((rows: number) => void) | undefined,
): Promise<VerificationSummary> {
  const keys = noteKeysOf(database.signer.instanceId, await listSigningKeys(database.ledgerPool));
  const summary: VerificationSummary = { logs: 0, rows: 0, faults: [] };
  for (const { id, logs } of workspaces) {
    for (const log of LOG_NAMES) {
      const head = logs[log];
      const source = `the head in the backup of ${madeAt}`;
      const keptHeads =
        head === undefined || head.size === 0 ? [] : [{ source, size: head.size, root: fromBase64(head.root) ?? NO_ROOT }];
      const onRows = progress === undefined ? undefined : (rows: number) => progress(summary.rows + rows);
      const report = await verifyLog(
        database.pool,
        database.secrets.masterSecret,
        { tenantId: id, log },
        { keys, keptHeads, progress: onRows },
      );
      summary.logs += 1;
      summary.rows += report.entries;
      if (!isValid(report)) summary.faults.push(`workspace ${id}, log ${log}: ${sentenceOf(report, keptHeads.length, true)}`);
    }
  }
  return summary;
}

/** No log has this root. It replaces a root in the manifest that is not base64, so that the verification fails. */
const NO_ROOT = new Uint8Array(32);
