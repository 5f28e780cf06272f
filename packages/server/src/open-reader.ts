import type { CheckpointKeeper } from './checkpoint-keeper.ts';
import { deriveDecisionKey } from './digests.ts';
import { publishedKey } from './instance-signer.ts';
import { LedgerReader } from './ledger/ledger-reader.ts';
import type { OpenDatabase } from './open-database.ts';
import { listSigningKeys } from './storage/signing-keys.ts';

/** Makes the reader of the record with its proofs. */
export function openReader(
  { ledgerPool, signer, secrets }: OpenDatabase,
  checkpoints: Pick<CheckpointKeeper, 'over'>,
): LedgerReader {
  return new LedgerReader({
    pool: ledgerPool,
    checkpointOver: checkpoints.over,
    signers: signer.keys,
    decisionKey: (tenantId, keyId) => deriveDecisionKey(secrets.masterSecret, tenantId, keyId),
    publicKeys: async () => ({ keys: (await listSigningKeys(ledgerPool)).map((key) => publishedKey(signer.instanceId, key)) }),
  });
}
