/** The message to the worker: the ledger that it verifies. */
export interface VerificationRequest {
  /** URL of the export of the ledger (NDJSON). */
  exportUrl: string;
  /** URL of the signed checkpoint of the ledger. */
  checkpointUrl: string;
  /** The workspace ID, which every row hash covers. */
  tenantId: string;
  /** The number of entries according to the ledger's head. */
  entryCount: number;
}

/** A message from the worker: any number of progress messages, then one result. */
export type VerificationMessage = { kind: 'progress'; checkedCount: number } | VerificationResult;

/**
 * The result of a verification. `checkedCount` is the number of valid entries. `head` is the hash of the last entry; null if the ledger
 * is empty. `signer` is the name of the key that signed the checkpoint. `seq` is the number of the entry that is not valid. It is null if
 * the checked entries are a valid chain, but the whole ledger is not valid. `failed`: the verification could not be completed.
 */
export type VerificationResult =
  | { kind: 'valid'; checkedCount: number; head: string | null; signer: string; elapsedMs: number }
  | { kind: 'invalid'; checkedCount: number; seq: number | null; reason: string }
  | { kind: 'failed'; reason: string };
