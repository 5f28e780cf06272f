/** The cleanups of the current file, in the order of registration. */
const cleanups: (() => unknown)[] = [];

/**
 * Runs a cleanup after the last test of the file; the cleanup registered last runs first. It can be called in a hook and in a test, where
 * vitest ignores `afterAll`.
 */
export function afterFile(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** Runs and forgets the registered cleanups. A cleanup that fails does not prevent the others. */
export async function runCleanups(): Promise<void> {
  const errors: unknown[] = [];
  for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop())
    await Promise.resolve()
      .then(cleanup)
      .catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, `cleanups failed: ${errors.map(String).join('; ')}`);
}
