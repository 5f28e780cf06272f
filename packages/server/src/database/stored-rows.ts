/*
 * Statements that fail unless PostgreSQL stores all their rows. A trigger that was added outside the server can drop rows without an error.
 * The check is a part of the statement, so it needs no round trip, and it makes COMMIT fail even if COMMIT was already sent. It does not
 * detect a trigger that deletes the row later in the transaction (docs/threat-model.md, note 29).
 */

const START = 'WITH stored AS (';
const CHECK = ' RETURNING 1)\nSELECT 1 / (count(*) = ';
const END = ')::integer AS complete FROM stored';

/**
 * SQL that fails with a division by zero unless a statement stores this number of rows.
 * @param text an INSERT or UPDATE without RETURNING.
 * @param count SQL for the number of rows.
 */
export const withRowCountCheck = (text: string, count: string): string => `${START}${text}${CHECK}${count}${END}`;

/**
 * Like `withRowCountCheck`, for an INSERT of one row for each element of an array.
 * @param array the parameter and its type, such as `$2::uuid[]`.
 */
export const withRowCountCheckOfArray = (text: string, array: string): string => withRowCountCheck(text, `cardinality(${array})`);

/** Whether this SQL is a result of `withRowCountCheck`. */
export const hasRowCountCheck = (text: string): boolean => text.startsWith(START) && text.endsWith(END);

/** The statement without the check. */
export const withoutRowCountCheck = (text: string): string =>
  hasRowCountCheck(text) ? text.slice(START.length, text.lastIndexOf(CHECK)) : text;

/**
 * PostgreSQL has not stored all rows of a statement. Nothing is committed. The error has the code of the failed check, so a batch is
 * retried.
 */
export class RowsNotStoredError extends Error {
  override name = 'RowsNotStoredError';
  readonly code = '22012';

  constructor(statement: string, cause: unknown) {
    super(`${statement}: the database has not stored all rows: a trigger or a row was added or changed outside the server`, {
      cause,
    });
  }
}
