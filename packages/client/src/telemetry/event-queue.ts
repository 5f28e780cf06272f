/** Limits of the queue. */
export interface QueueBounds {
  eventsMax: number;
  /** The maximum length of all JSON texts in UTF-16 units, an estimate of their memory. */
  unitsMax: number;
}

/** Limits of one request. */
export interface BatchBounds {
  eventsMax: number;
  bytesMax: number;
}

/**
 * Queued events as JSON texts, built when the events are emitted. So later changes of the objects have no effect, invalid values are found
 * at once, and a text needs less memory than the object of the event.
 */
export class EventQueue {
  readonly #bounds: QueueBounds;
  #texts: string[] = [];
  /** Index of the first text that is still queued. */
  #first = 0;
  #units = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /** The number of queued events. */
  get size(): number {
    return this.#texts.length - this.#first;
  }

  /**
   * Whether a text fits. Events that were taken and have no outcome yet (`inFlight`) count towards `eventsMax`, but not towards
   * `unitsMax`.
   */
  hasRoom(units: number, inFlight: number): boolean {
    const { eventsMax, unitsMax } = this.#bounds;
    return this.size + inFlight < eventsMax && this.#units + units <= unitsMax;
  }

  /** Adds a text. */
  push(text: string): void {
    this.#texts.push(text);
    this.#units += text.length;
  }

  /** Whether the queued events are enough for a full request. */
  hasFullBatch({ eventsMax, bytesMax }: BatchBounds): boolean {
    return this.size >= eventsMax || this.#units >= bytesMax;
  }

  /** Removes and returns the oldest events: as many as fit in a request by their UTF-16 units, but at least one. */
  take({ eventsMax, bytesMax }: BatchBounds): string[] {
    const end = Math.min(this.#texts.length, this.#first + eventsMax);
    let units = 0;
    let next = this.#first;
    for (; next < end; next += 1) {
      const length = this.#texts[next]!.length + 1;
      if (next > this.#first && units + length > bytesMax) break;
      units += length;
    }
    const texts = this.#texts.slice(this.#first, next);
    this.#texts.fill('', this.#first, next);
    this.#first = next;
    for (const { length } of texts) this.#units -= length;
    this.#compact();
    return texts;
  }

  /** Removes all events and returns their number. */
  clear(): number {
    const { size } = this;
    this.#texts = [];
    this.#first = 0;
    this.#units = 0;
    return size;
  }

  /** Removes the array elements of taken texts at intervals. Removing them on every take would need quadratic time. */
  #compact(): void {
    if (this.#first < this.#texts.length && this.#first < 4096) return;
    this.#texts = this.#texts.slice(this.#first);
    this.#first = 0;
  }
}
