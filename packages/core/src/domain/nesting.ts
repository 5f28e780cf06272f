/**
 * Whether a parsed JSON value is nested more deeply than `max` objects and arrays. The value may be as deep as its sender
 * likes: the walk never goes deeper than the limit, so it cannot exhaust the call stack.
 */
export function deeperThan(value: unknown, max: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (max === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null && deeperThan(item, max - 1)) return true;
    return false;
  }
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object' && member !== null && deeperThan(member, max - 1)) return true;
  }
  return false;
}
