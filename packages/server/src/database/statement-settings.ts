/**
 * The settings on which the meaning of statements and the text of their values depend. The database or the role may have other values:
 *
 * - With `row_security = off`, PostgreSQL refuses each statement on a table with row-level security.
 * - With the default `search_path`, PostgreSQL prefers a function of `public` to a built-in function if its argument types fit better. That
 *   function would run with the rights of the server's role.
 * - With `standard_conforming_strings = off`, patterns lose their backslashes.
 * - With `array_nulls = off`, a null in an array is the text NULL.
 * - With `quote_all_identifiers = on`, the definitions of tables seem to differ from those of the migrations.
 * - The other settings determine the text of times, bytes and numbers.
 */
export const STATEMENT_SETTINGS = `SET quote_all_identifiers = off; SET row_security = on; SET search_path = pg_catalog, pg_temp;
  SET standard_conforming_strings = on; SET array_nulls = on; SET datestyle = 'ISO, MDY'; SET timezone = 'UTC'; SET intervalstyle = 'postgres';
  SET bytea_output = 'hex'; SET extra_float_digits = 1`;

/** Removes the time limit of whole transactions. PostgreSQL 15 and 16 do not have the setting `transaction_timeout`. */
export const NO_TRANSACTION_TIMEOUT = `SELECT set_config('transaction_timeout', '0', false)
  WHERE current_setting('transaction_timeout', true) <> '0'`;
