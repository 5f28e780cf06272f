/** The input of a connection that can be ended for the bytes that it keeps waiting. */
export interface WaitingInput {
  /** Ends the connection; gives its waiting bytes back. */
  end(): void;
}

/**
 * Bounds the bytes that wait in all connections of a server together. Beyond the bound, the connection with the most waiting bytes is
 * ended: one that waits for each answer before its next request has none. Requests that wait have not begun, so nothing recorded is lost.
 */
export class WaitingBytes {
  readonly #bytesMax: number;
  readonly #heldBy = new Map<WaitingInput, number>();
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Counts bytes of an input, which may end it or another one. */
  add(input: WaitingInput, bytes: number): void {
    this.#total += bytes;
    this.#heldBy.set(input, (this.#heldBy.get(input) ?? 0) + bytes);
    while (this.#total > this.#bytesMax) this.#endLargest();
  }

  /** Gives bytes of an input back. */
  remove(input: WaitingInput, bytes: number): void {
    const left = (this.#heldBy.get(input) ?? 0) - bytes;
    this.#total -= bytes;
    if (left > 0) this.#heldBy.set(input, left);
    else this.#heldBy.delete(input);
  }

  #endLargest(): void {
    let [largest, most]: [WaitingInput | undefined, number] = [undefined, 0];
    for (const [input, held] of this.#heldBy) if (held > most) [largest, most] = [input, held];
    largest?.end();
  }
}
