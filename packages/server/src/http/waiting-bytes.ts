/** The input of a connection. Its waiting bytes are received, but not parsed yet. */
export interface WaitingInput {
  /** Closes the connection and removes its waiting bytes. */
  end(): void;
}

/**
 * Limits the waiting bytes of all connections of a server. Beyond the limit, the connection with the most waiting bytes is closed. A client
 * that waits for each response has no waiting bytes. Requests in waiting bytes have not started, so no stored record is lost.
 */
export class WaitingBytes {
  readonly #bytesMax: number;
  readonly #bytesOf = new Map<WaitingInput, number>();
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Counts bytes of an input. Beyond the limit, closes the inputs with the most waiting bytes, possibly this input too. */
  add(input: WaitingInput, bytes: number): void {
    this.#total += bytes;
    this.#bytesOf.set(input, (this.#bytesOf.get(input) ?? 0) + bytes);
    while (this.#total > this.#bytesMax) this.#endLargest();
  }

  /** Stops counting bytes of an input. */
  remove(input: WaitingInput, bytes: number): void {
    const remaining = (this.#bytesOf.get(input) ?? 0) - bytes;
    this.#total -= bytes;
    if (remaining > 0) this.#bytesOf.set(input, remaining);
    else this.#bytesOf.delete(input);
  }

  #endLargest(): void {
    let [largest, most]: [WaitingInput | undefined, number] = [undefined, 0];
    for (const [input, bytes] of this.#bytesOf) if (bytes > most) [largest, most] = [input, bytes];
    largest?.end();
  }
}
