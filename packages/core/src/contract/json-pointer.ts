/** The maximum number of issues in one response (docs/errors.md). */
export const ISSUES_MAX = 100;

/** The JSON Pointer (RFC 6901) of the given steps. */
export const jsonPointer = (steps: readonly (string | number)[]): string =>
  steps.map((step) => '/' + String(step).replaceAll('~', '~0').replaceAll('/', '~1')).join('');
