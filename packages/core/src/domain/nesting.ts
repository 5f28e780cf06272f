/**
 * Whether a parsed JSON value has more than `max` levels of objects and arrays. The recursion stops at the limit, so a hostile value cannot
 * overflow the call stack.
 */
export function isNestedDeeperThan(value: unknown, max: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (max === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null && isNestedDeeperThan(item, max - 1)) return true;
    return false;
  }
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object' && member !== null && isNestedDeeperThan(member, max - 1)) return true;
  }
  return false;
}
