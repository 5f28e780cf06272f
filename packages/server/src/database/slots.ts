/** A fixed number of places, given out in the order of asking: every tenant's batch waits its turn for a connection. */
export class Slots {
  #free: number;
  readonly #waiting: ((release: () => void) => void)[] = [];

  constructor(size: number) {
    this.#free = size;
  }

  /** Waits for a place; the function returned gives it back, once. */
  take(): Promise<() => void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(this.#releaser());
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #releaser(): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next(this.#releaser());
    };
  }
}
