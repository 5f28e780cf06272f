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

/** The result of a verification. */
export type VerificationResult =
  | { kind: 'valid'; checked: number; head: string | null; checkpoint: string; elapsedMs: number }
  | { kind: 'invalid'; checked: number; seq: number; reason: string }
  | { kind: 'failed'; reason: string };
