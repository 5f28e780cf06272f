/** The maximum number of issues in one response (docs/errors.md). */
export const ISSUES_MAX = 100;

/** Returns the JSON Pointer (RFC 6901) for a path of member names and array indexes. Empty for an empty path. */
export const jsonPointer = (steps: readonly (string | number)[]): string =>
  steps.map((step) => '/' + String(step).replaceAll('~', '~0').replaceAll('/', '~1')).join('');
