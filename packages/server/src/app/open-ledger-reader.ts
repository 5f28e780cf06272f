import type { CheckpointSchedule } from '../checkpoints/checkpoint-schedule.ts';
import { deriveDecisionKey } from '../crypto/digests.ts';
import { BrokenSealError } from '../database/broken-seals.ts';
import { LedgerReader } from '../ledger/ledger-reader.ts';
import { type PublishedKey, publishedKey } from '../secrets/instance-signer.ts';
import { listSigningKeys } from '../storage/signing-keys.ts';
import type { OpenDatabase } from './open-database.ts';

/** Creates the reader of the logs and their proofs. */
export function openLedgerReader(
  { ledgerPool, signer, secrets }: OpenDatabase,
  checkpoints: Pick<CheckpointSchedule, 'checkpointOver'>,
): LedgerReader {
  return new LedgerReader({
    pool: ledgerPool,
    checkpointOver: checkpoints.checkpointOver,
    signers: signer.keys,
    decisionKey: (tenantId, keyId) => deriveDecisionKey(secrets.masterSecret, tenantId, keyId),
    publicKeys: async () => ({ keys: await publishedKeys({ ledgerPool, signer }) }),
  });
}

/**
 * The public keys of the instance, oldest first.
 * @throws BrokenSealError if a key that signs now is not valid in the database. With an incomplete list, readers would take genuine
 *   signatures for forged ones.
 */
async function publishedKeys({ ledgerPool, signer }: Pick<OpenDatabase, 'ledgerPool' | 'signer'>): Promise<PublishedKey[]> {
  const keys = await listSigningKeys(ledgerPool);
  if (!signer.keys.every(({ keyid }) => keys.some(({ kid }) => kid === keyid))) throw new BrokenSealError('signing_keys');
  return keys.map((key) => publishedKey(signer.instanceId, key));
}
