/** How a call went, beside what was answered. */
export interface Receipt {
  /** Names the request in the service's log. */
  requestId: string | undefined;
  /** The key under which the request may be sent again within 24 hours without storing anything twice. */
  idempotencyKey: string;
  /** How often it was sent. */
  attempts: number;
  /** Whether the service had stored it already and answered again (`Idempotent-Replayed`). */
  replayed: boolean;
  /** Headers of the answer, names in lower case; `countersign-ledger-seq` and `countersign-checkpoint` are worth keeping. */
  headers: Record<string, string>;
  /** The answer's body as it came, byte for byte: what to keep of a signed decision. */
  text: string;
}

const receipts = new WeakMap<object, Receipt>();

/**
 * The receipt of an answer that this library gave; undefined for any other object. It stands beside the answer and not in it: an
 * answer has the members that the service signed and no others.
 */
export const receiptOf = (answer: object): Receipt | undefined => receipts.get(answer);

/** @internal Keeps a receipt for as long as its answer lives. */
export function keepReceipt(answer: object, receipt: Receipt): void {
  receipts.set(answer, receipt);
}
