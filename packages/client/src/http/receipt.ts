/** Details of a call besides its result. */
export interface Receipt {
  /** Identifies the request in the service's log. */
  requestId: string | undefined;
  /** The key for repeating the request within 24 hours without storing it twice. */
  idempotencyKey: string;
  /** The number of attempts. */
  attempts: number;
  /** Whether the service had stored the request before and repeated its response (`Idempotent-Replayed`). */
  replayed: boolean;
  /** Headers of the response, names in lower case. Keep `countersign-ledger-seq` and `countersign-checkpoint`. */
  headers: Record<string, string>;
  /** The body of the response, decoded as UTF-8 and otherwise unchanged: keep it for signed decisions. */
  text: string;
}

const receipts = new WeakMap<object, Receipt>();

/**
 * The receipt of a result of this library; undefined for any other object. It is not a member of the result, because an additional
 * member would make the signature of a decision invalid.
 */
export const receiptOf = (result: object): Receipt | undefined => receipts.get(result);

/** @internal Stores a receipt as long as its result is in use. */
export function keepReceipt(result: object, receipt: Receipt): void {
  receipts.set(result, receipt);
}
