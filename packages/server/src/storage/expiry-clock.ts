/**
 * SQL for the time by which rows expire: the database's clock, within the bounds that the server's own clock allows. Takes two parameters,
 * numbered from `first`: the values of `Clock.expiryBounds()`. After a jump of the clock nothing expires, and expired rows stay expired.
 * `statement_timestamp()` and not `clock_timestamp()`, because Citus accepts no volatile function in an UPDATE or DELETE.
 */
export const expiryClock = (first: number): string =>
  `greatest(least(statement_timestamp(), $${first + 1}::timestamptz), $${first}::timestamptz)`;
