/** The result of a function that reads objects of the host, or `fallback` if a getter throws: recording never throws. */
export function readOr<T>(read: () => T, fallback: T): T {
  try {
    return read();
  } catch {
    return fallback;
  }
}

/** A copy of the members of an object; empty if a getter throws: recording never throws. */
export function copyOf<Members extends object>(members: Members): Partial<Members> {
  return readOr<Partial<Members>>(() => ({ ...members }), {});
}
