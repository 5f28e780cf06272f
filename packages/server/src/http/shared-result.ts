/**
 * Computes a result at most once per `ageMsMax`. Concurrent calls share it, also while it is computed. A failure is shared by the waiting
 * calls and not cached. For results that cost much more to compute than to send.
 */
export function sharedResult<T>(ageMsMax: number, make: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let madeAt = -Infinity;
  return () => {
    if (current !== undefined && performance.now() - madeAt < ageMsMax) return current;
    const making = make();
    current = making;
    madeAt = Infinity; // shared until it is computed
    making.then(
      () => {
        madeAt = performance.now();
      },
      () => {
        current = undefined;
      },
    );
    return making;
  };
}
