import { ExitError } from '../errors/exit-codes.ts';

/** The ExitError for a statement that the database rejected because its role lacks a right; undefined for any other error. */
export function missingRightError(error: unknown): ExitError | undefined {
  if (!(error instanceof Error) || (error as { code?: string }).code !== '42501') return undefined;
  return new ExitError(
    'database_away',
    `the database role lacks a right (${error.message}); to create the tables, grant it CREATE on the database; if another role owns ` +
      'the tables, set COUNTERSIGN_MIGRATE_DATABASE_URL to the URL of the owner, and run `countersign-server migrate`',
  );
}
