/** The cleanups of the current file, in the order of registration. */
const cleanups: (() => unknown)[] = [];

/**
 * Registers a cleanup that runs after the last test of the file. The cleanup registered last runs first. This
 * function can be called in a hook or in a test. vitest ignores `afterAll` there.
 */
export function afterFile(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** Runs and removes all registered cleanups, even if one fails. Then throws an AggregateError of the failures, if there are any. */
export async function runCleanups(): Promise<void> {
  const errors: unknown[] = [];
  for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop())
    await Promise.resolve()
      .then(cleanup)
      .catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, `cleanups failed: ${errors.map(String).join('; ')}`);
}
