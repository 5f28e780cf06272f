import { unavailable } from '../errors/api-error.ts';

/** The number of concurrent turns, the maximum number of waiters of one owner and in total, and the longest wait. */
export interface TurnBounds {
  size: number;
  waitingOfOneMax: number;
  waitingMax: number;
  waitMs: number;
}

interface Waiter {
  grant: (release: () => void) => void;
  refuse: (cause: string) => void;
}

interface Owner {
  turns: number;
  queue: Waiter[];
}

/**
 * Shares a fixed number of turns fairly between owners (tenants, or people). A free turn goes to the waiting owner with the fewest turns.
 * Among equals, it goes to the owner whose last turn began earliest. For an owner that had no turn yet, the time of its arrival counts
 * instead. The last free turn is reserved for owners without a turn, so that a slow owner does not block others (unless `size` is 1). The
 * queue is limited: an owner that fills it gets 503, and other owners keep their places.
 */
export class FairTurns {
  readonly #bounds: TurnBounds;
  #free: number;
  #waiting = 0;
  /** The owners that wait or have a turn, ordered by the start of their last turn, or by their arrival if they had none. Oldest first. */
  readonly #owners = new Map<string, Owner>();

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds;
    this.#free = bounds.size;
  }

  /** The number of waiters. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Waits for a turn of the owner `name`; the returned function ends the turn. Rejects with 503 if the queue is full or the wait takes too
   * long. It also rejects if an owner with fewer waiters needs the place in the queue.
   */
  take(name: string): Promise<() => void> {
    const owner = this.#owners.get(name) ?? { turns: 0, queue: [] };
    this.#owners.set(name, owner);
    return new Promise((resolve, reject) => {
      if (!this.#makeSpace(owner)) {
        this.#forgetIdle(name, owner);
        reject(unavailable('too many transactions wait for a connection'));
        return;
      }
      this.#enqueue(name, owner, resolve, reject);
      this.#grantNext();
    });
  }

  #enqueue(name: string, owner: Owner, resolve: Waiter['grant'], reject: (error: Error) => void): void {
    const waiter: Waiter = {
      grant: (release) => {
        clearTimeout(timer);
        resolve(release);
      },
      refuse: (cause) => {
        clearTimeout(timer);
        reject(unavailable(cause));
      },
    };
    const timer = setTimeout(() => {
      owner.queue.splice(owner.queue.indexOf(waiter), 1);
      this.#waiting -= 1;
      this.#forgetIdle(name, owner);
      waiter.refuse('the transaction waited too long for a connection');
    }, this.#bounds.waitMs).unref();
    owner.queue.push(waiter);
    this.#waiting += 1;
  }

  /**
   * Makes space for one more waiter of the owner. Returns false if there is no space. If the queue is full, the owner with the most waiters
   * loses its newest waiter. This happens only if it has at least two waiters more than `owner`.
   */
  #makeSpace(owner: Owner): boolean {
    if (owner.queue.length >= this.#bounds.waitingOfOneMax) return false;
    if (this.#waiting < this.#bounds.waitingMax) return true;
    const longest = [...this.#owners.values()].reduce((a, b) => (b.queue.length > a.queue.length ? b : a));
    if (longest.queue.length <= owner.queue.length + 1) return false;
    longest.queue.pop()!.refuse('transactions of other tenants or people wait for a connection');
    this.#waiting -= 1;
    return true;
  }

  #grantNext(): void {
    while (this.#free > 0 && this.#waiting > 0) {
      const next = this.#nextOwner();
      if (next === undefined) return;
      const [name, owner] = next;
      const waiter = owner.queue.shift()!;
      this.#waiting -= 1;
      this.#free -= 1;
      owner.turns += 1;
      this.#owners.delete(name);
      this.#owners.set(name, owner);
      waiter.grant(this.#releaser(name, owner));
    }
  }

  #nextOwner(): [string, Owner] | undefined {
    let next: [string, Owner] | undefined;
    for (const entry of this.#owners)
      if (entry[1].queue.length > 0 && (next === undefined || entry[1].turns < next[1].turns)) next = entry;
    const isReserved = this.#free === 1 && this.#bounds.size > 1;
    return isReserved && next !== undefined && next[1].turns > 0 ? undefined : next;
  }

  #releaser(name: string, owner: Owner): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#free += 1;
      owner.turns -= 1;
      this.#forgetIdle(name, owner);
      this.#grantNext();
    };
  }

  #forgetIdle(name: string, owner: Owner): void {
    if (owner.turns === 0 && owner.queue.length === 0) this.#owners.delete(name);
  }
}
