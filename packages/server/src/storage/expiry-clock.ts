/**
 * SQL for the time by which rows expire: the database's clock, held within what the server believes of it. Takes two parameters, numbered
 * from `first`: the values of `Clock.expiryBounds()`. A clock that jumped expires nothing, and revives nothing that has expired.
 */
export const expiryClock = (first: number): string =>
  `greatest(least(clock_timestamp(), $${first + 1}::timestamptz), $${first}::timestamptz)`;
