/**
 * Returns a function that calls `make` and shares the result with all calls while it is computed, and during the `ageMsMax` milliseconds
 * after that. If `make` fails, the calls that wait get its error, and the next call computes the result again. Use it for
 * results that cost much more to compute than to send.
 */
export function sharedResult<T>(ageMsMax: number, make: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let madeAtMs = -Infinity;
  return () => {
    if (current !== undefined && performance.now() - madeAtMs < ageMsMax) return current;
    const making = make();
    current = making;
    madeAtMs = Infinity; // shared until it is computed
    making.then(
      () => {
        madeAtMs = performance.now();
      },
      () => {
        current = undefined;
      },
    );
    return making;
  };
}
