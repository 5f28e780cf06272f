import { cloneDatabase, type TestDatabase } from './test-database.ts';

/** A database with a clock that a test can shift. */
export interface ShiftedDatabase extends TestDatabase {
  /** From now on, `clock_timestamp()` returns the real time plus this interval, for example `20 years`. `0` ends the shift. */
  shiftClock(by: string): Promise<void>;
}

/**
 * Clones the template and puts another `clock_timestamp()` before PostgreSQL's on the search path. Column defaults still use
 * PostgreSQL's function, and `now()` is not shifted.
 * Open the server's connections after this: a search path takes effect when a connection starts.
 */
export async function databaseWithShiftedClock(): Promise<ShiftedDatabase> {
  const database = await cloneDatabase();
  const name = database.server.database;
  await database.sql(`CREATE SCHEMA clock_double`);
  await database.sql(`CREATE TABLE clock_double.shift AS SELECT interval '0' AS by`);
  await database.sql(`CREATE FUNCTION clock_double.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
    AS 'SELECT pg_catalog.clock_timestamp() + by FROM clock_double.shift'`);
  await database.sql(`GRANT USAGE ON SCHEMA clock_double TO PUBLIC`);
  await database.sql(`GRANT SELECT ON clock_double.shift TO PUBLIC`);
  await database.sql(`ALTER DATABASE ${name} SET search_path = clock_double, pg_catalog, public`);
  return {
    ...database,
    shiftClock: async (by) => {
      await database.sql(`UPDATE clock_double.shift SET by = $1::interval`, [by]);
    },
  };
}
