import type { CheckpointSchedule } from '../checkpoints/checkpoint-schedule.ts';
import { deriveDecisionKey } from '../crypto/digests.ts';
import { LedgerReader } from '../ledger/ledger-reader.ts';
import { publishedKey } from '../secrets/instance-signer.ts';
import { listSigningKeys } from '../storage/signing-keys.ts';
import type { OpenDatabase } from './open-database.ts';

/** Creates the reader of the logs and their proofs. */
export function openLedgerReader(
  { ledgerPool, signer, secrets }: OpenDatabase,
  checkpoints: Pick<CheckpointSchedule, 'over'>,
): LedgerReader {
  return new LedgerReader({
    pool: ledgerPool,
    checkpointOver: checkpoints.over,
    signers: signer.keys,
    decisionKey: (tenantId, keyId) => deriveDecisionKey(secrets.masterSecret, tenantId, keyId),
    publicKeys: async () => ({ keys: (await listSigningKeys(ledgerPool)).map((key) => publishedKey(signer.instanceId, key)) }),
  });
}
