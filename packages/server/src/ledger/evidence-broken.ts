import { ApiError } from '../errors/api-error.ts';

/** A row that the act relies on is not what the log `evidence` says of its object. Nothing is stored. */
export class EvidenceBrokenError extends ApiError {
  override name = 'EvidenceBrokenError';

  /** @param message for the operator, with the row. The sender gets a remedy. */
  constructor(message: string) {
    super('evidence_broken', [{ path: '', code: 'evidence_broken', message: TOLD }], { 'Retry-After': RETRY_AFTER_SECONDS });
    this.message = message;
  }
}

/** The operator has to put the row right first. Senders keep their records meanwhile. */
const RETRY_AFTER_SECONDS = '60';

const TOLD =
  'a row of this workspace differs from its log of evidence: the database was changed outside the server. Nothing was stored. ' +
  'The operator finds the row with `countersign-server ledger verify`';
