import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import { type LedgerSource, type LedgerTrust, type LedgerVerdict, verifyLedger } from '../verification/verify-ledger.ts';
import type { AuditEntry, AuditEntryAppended } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';

/** Entries in the workspace's hash-chained ledger. Scope of the key: `audit`. */
export class Audit {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Appends one immutable entry. Keep `row_hash` of the result: with it you can later check that the ledger still contains the entry
   * unchanged. The entry's number is in the header `countersign-ledger-seq` of the receipt (`receiptOf`).
   * @throws ConfigurationError if the body is not JSON, or an option or the API key is malformed; ApiError for an error status;
   * ConnectionError, TimeoutError or UnexpectedAnswerError; or the reason of `options.signal`.
   */
  append(entry: AuditEntry, options?: CallOptions): Promise<AuditEntryAppended> {
    return this.#transport.post(ENDPOINTS.audit, () => jsonBody(entry), options);
  }

  /** Verifies an export of the ledger: see `verifyLedger`, which needs no client. Sends nothing. */
  verifyLedger(lines: LedgerSource, trust?: LedgerTrust): Promise<LedgerVerdict> {
    return verifyLedger(lines, trust);
  }
}
