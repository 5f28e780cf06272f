import { ApiError } from '../errors/api-error.ts';

/** A row that the request relies on differs from the evidence log. Nothing is stored. */
export class EvidenceBrokenError extends ApiError {
  override name = 'EvidenceBrokenError';

  /** @param message for the operator; it names the row. The sender gets `SENDER_MESSAGE`. */
  constructor(message: string) {
    super('evidence_broken', [{ path: '', code: 'evidence_broken', message: SENDER_MESSAGE }], {
      'Retry-After': RETRY_AFTER_SECONDS,
    });
    this.message = message;
  }
}

/** Retries can succeed only after the operator has corrected the row, so the wait between retries is long. */
const RETRY_AFTER_SECONDS = '60';

const SENDER_MESSAGE =
  'a row of this workspace differs from its evidence log: the database was changed outside the server. Nothing was stored. ' +
  'The operator finds the row with `countersign-server ledger verify`';
