/**
 * A fixed number of slots, granted in the order of requests. Batches of all tenants wait in one queue for a connection, and password hashes
 * in another one.
 */
export class Slots {
  #free: number;
  readonly #waiting: ((release: () => void) => void)[] = [];

  constructor(size: number) {
    this.#free = size;
  }

  /** Waits for a slot. The returned function releases it; further calls of that function do nothing. */
  take(): Promise<() => void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(this.#releaser());
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #releaser(): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next(this.#releaser());
    };
  }
}
