/** Bounds of what waits to be sent. */
export interface QueueBounds {
  eventsMax: number;
  /** Of JSON text, in UTF-16 units: what it costs in memory, give or take. */
  unitsMax: number;
}

/** Bounds of one request. */
export interface BatchBounds {
  eventsMax: number;
  bytesMax: number;
}

/**
 * Events that wait, as the JSON texts they were when they were emitted: what the host does with its objects afterwards changes nothing,
 * what is no JSON is found at once, and a text costs less memory than the objects it was made of.
 */
export class EventQueue {
  readonly #bounds: QueueBounds;
  #texts: string[] = [];
  /** Texts before it are taken. */
  #first = 0;
  #units = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /** Events that wait. */
  get size(): number {
    return this.#texts.length - this.#first;
  }

  /** Units of JSON that wait. */
  get units(): number {
    return this.#units;
  }

  /** Whether there is room for a text, counting the events that are out of the queue but not settled yet. */
  hasRoom(units: number, unsettled: number): boolean {
    const { eventsMax, unitsMax } = this.#bounds;
    return this.size + unsettled < eventsMax && this.#units + units <= unitsMax;
  }

  /** Takes a text in. */
  push(text: string): void {
    this.#texts.push(text);
    this.#units += text.length;
  }

  /** Whether there is enough for a request that holds as much as one may. */
  holdsBatch({ eventsMax, bytesMax }: BatchBounds): boolean {
    return this.size >= eventsMax || this.#units >= bytesMax;
  }

  /** The oldest events, as many as one request may hold, one at least. */
  take({ eventsMax, bytesMax }: BatchBounds): string[] {
    const end = Math.min(this.#texts.length, this.#first + eventsMax);
    let units = 0;
    let at = this.#first;
    for (; at < end; at += 1) {
      const length = this.#texts[at]!.length + 1;
      if (at > this.#first && units + length > bytesMax) break;
      units += length;
    }
    const taken = this.#texts.slice(this.#first, at);
    this.#first = at;
    for (const { length } of taken) this.#units -= length;
    this.#compact();
    return taken;
  }

  /** Forgets all, and says how many that were. */
  clear(): number {
    const { size } = this;
    this.#texts = [];
    this.#first = 0;
    this.#units = 0;
    return size;
  }

  /** Moving the rest on every take would cost the square of the queue; never moving it, memory. */
  #compact(): void {
    if (this.#first < this.#texts.length && this.#first < 4096) return;
    this.#texts = this.#texts.slice(this.#first);
    this.#first = 0;
  }
}
