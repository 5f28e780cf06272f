/** What the page asks of the worker. */
export interface VerificationRequest {
  /** Address of the ledger's NDJSON. */
  exportAddress: string;
  /** Address of the ledger's signed checkpoint. */
  checkpointAddress: string;
  /** The workspace: the tenant under each hash. */
  tenantId: string;
  /** The entries that the ledger's head says there are. */
  entries: number;
}

/** What the worker says: how far it is, and in the end one verdict. */
export type VerificationMessage = { kind: 'progress'; checked: number } | VerificationResult;

/** The end of a verification. */
export type VerificationResult =
  | { kind: 'whole'; checked: number; head: string | null; checkpoint: string; elapsedMs: number }
  | { kind: 'broken'; checked: number; seq: number; reason: string }
  | { kind: 'failed'; reason: string };
