/** What the worker has to verify. */
export interface VerificationRequest {
  /** URL of the ledger's NDJSON. */
  exportUrl: string;
  /** URL of the ledger's signed checkpoint. */
  checkpointUrl: string;
  /** The workspace ID, which every row hash covers. */
  tenantId: string;
  /** The number of entries according to the ledger's head. */
  entries: number;
}

/** Messages of the worker: progress, then one result. */
export type VerificationMessage = { kind: 'progress'; checked: number } | VerificationResult;

/**
 * The result of a verification. `head` is the hash of the last entry. `signer` is the name of the key that signed the checkpoint. `seq` is
 * the number of the entry that is not valid; it is null if each of the `checked` entries is valid, but the ledger as a whole is not.
 */
export type VerificationResult =
  | { kind: 'valid'; checked: number; head: string | null; signer: string; elapsedMs: number }
  | { kind: 'invalid'; checked: number; seq: number | null; reason: string }
  | { kind: 'failed'; reason: string };
