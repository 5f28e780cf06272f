/** A copy of the members of an object, without any if a getter throws: recording never throws. */
export function copyOf<Members extends object>(members: Members): Partial<Members> {
  try {
    return { ...members };
  } catch {
    return {};
  }
}
