import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import { type LedgerSource, type LedgerTrust, type LedgerVerdict, verifyLedger } from '../verification/verify-ledger.ts';
import type { AuditEntry, AuditEntryAppended } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';

/** What was decided about agents, in the workspace's hash-chained ledger. Scope of the key: `audit`. */
export class Audit {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Appends one immutable entry. Keep `row_hash` of the answer: it is the proof that the entry is in the ledger; its number there is
   * the header `countersign-ledger-seq` of the answer's receipt (`receiptOf`).
   * @throws the ApiError's class of the status, ConnectionError, TimeoutError, UnexpectedAnswerError.
   */
  append(entry: AuditEntry, options?: CallOptions): Promise<AuditEntryAppended> {
    return this.#transport.post(ENDPOINTS.audit, () => jsonBody(entry), options);
  }

  /** Whether an export of the ledger is whole: see `verifyLedger`, which needs no client. Sends nothing. */
  verifyLedger(lines: LedgerSource, trust?: LedgerTrust): Promise<LedgerVerdict> {
    return verifyLedger(lines, trust);
  }
}
