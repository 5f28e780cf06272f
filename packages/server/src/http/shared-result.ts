/**
 * Makes a result at most once per `ageMsMax`: calls meanwhile get the same one, also while it is being made. A failure is shared by the
 * calls that wait for it and is not kept. For results that cost much more to make than a request costs to send.
 */
export function sharedResult<T>(ageMsMax: number, make: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let madeAt = -Infinity;
  return () => {
    if (current !== undefined && performance.now() - madeAt < ageMsMax) return current;
    const making = make();
    current = making;
    madeAt = Infinity; // shared until it is made
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
