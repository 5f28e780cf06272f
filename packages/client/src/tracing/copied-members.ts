/** The result of a function that reads objects of the host, or `otherwise` if a getter throws: recording never throws. */
export function readOr<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** A copy of the members of an object; empty if a getter throws: recording never throws. */
export function copyOf<Members extends object>(members: Members): Partial<Members> {
  return readOr<Partial<Members>>(() => ({ ...members }), {});
}
