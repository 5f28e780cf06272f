/** Most issues that one answer lists (decisions.md, "Order of checks"). */
export const ISSUES_MAX = 100;

/** A JSON Pointer (RFC 6901) of the given steps. */
export const jsonPointer = (steps: readonly (string | number)[]): string =>
  steps.map((step) => '/' + String(step).replaceAll('~', '~0').replaceAll('/', '~1')).join('');
