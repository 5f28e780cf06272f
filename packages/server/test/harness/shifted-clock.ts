import { cloneDatabase, type TestDatabase } from './test-database.ts';

/** A database with a clock that a test can shift. */
export interface ShiftedDatabase extends TestDatabase {
  /** From now on, `clock_timestamp()` returns the real time plus this interval, for example `20 years`. `0` ends the shift. */
  shiftClock(by: string): Promise<void>;
}

/**
 * Clones the template and replaces PostgreSQL's `clock_timestamp()` in the clone. Column defaults still use the original function, and
 * `now()` is not shifted. Open the server's connections after this, because a connection keeps its plans.
 */
export async function databaseWithShiftedClock(): Promise<ShiftedDatabase> {
  const database = await cloneDatabase();
  await database.sql(`CREATE SCHEMA clock_shift`);
  await database.sql(`CREATE TABLE clock_shift.shift AS SELECT interval '0' AS by`);
  await database.sql(`GRANT USAGE ON SCHEMA clock_shift TO PUBLIC`);
  await database.sql(`GRANT SELECT ON clock_shift.shift TO PUBLIC`);
  await database.sql(`SET allow_system_table_mods = on; ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO clock_without_shift;
    CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
      AS 'SELECT clock_without_shift() + by FROM clock_shift.shift'; RESET allow_system_table_mods`);
  return {
    ...database,
    shiftClock: async (by) => {
      await database.sql(`UPDATE clock_shift.shift SET by = $1::interval`, [by]);
    },
  };
}
