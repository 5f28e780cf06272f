/**
 * SQL for the time that decides whether a row has expired: the database's clock, clamped to the bounds that the server accepts for it. So a
 * jump of the clock makes no row expire early, and expired rows stay expired. The bounds are two parameters, numbered from `first`: the
 * values of `Clock.expiryBounds()`. The SQL uses `statement_timestamp()`, because Citus accepts no volatile function such as
 * `clock_timestamp()` in an UPDATE or DELETE.
 */
export const expiryClock = (first: number): string =>
  `greatest(least(statement_timestamp(), $${first + 1}::timestamptz), $${first}::timestamptz)`;
