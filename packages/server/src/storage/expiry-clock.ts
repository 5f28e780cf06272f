/**
 * SQL for the time that decides whether a row has expired: the database's clock, clamped to the bounds that the server accepts for it. So a
 * jump of the clock makes no row expire early, and expired rows stay expired. The bounds are two parameters, numbered from `first`: the
 * values of `Clock.expiryBounds()`. The SQL uses `statement_timestamp()`, because Citus accepts no volatile function such as
 * `clock_timestamp()` in an UPDATE or DELETE.
 */
export const expiryClock = (first: number): string =>
  `greatest(least(statement_timestamp(), $${first + 1}::timestamptz), $${first}::timestamptz)`;

/**
 * SQL that is true for a time more than a minute after `expiryClock`. A row with such a time was written while a clock was ahead, so it
 * would expire too late. @param first the number of the first parameter, as for `expiryClock`.
 */
export const isAhead = (column: string, first: number): string => `${column} > ${expiryClock(first)} + interval '1 minute'`;

/**
 * SQL that is true for a row that has expired, or that was created while a clock was ahead.
 * @param row the alias of a table with `created_at` and `expires_at`. @param first the number of the first parameter.
 */
export const isExpired = (row: string, first: number): string =>
  `(${row}.expires_at <= ${expiryClock(first)} OR ${isAhead(`${row}.created_at`, first)})`;
