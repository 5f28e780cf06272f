import type { Pool } from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { isDistributed } from '../../src/database/citus.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openPool } from '../../src/database/pool.ts';
import { afterFile } from '../harness/after-file.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  const cloned = await cloneDatabase();
  const opened = openPool(cloned.server, { size: 1, name: 'test' });
  [database, pool] = [cloned, opened];
  afterFile(async () => {
    await opened.end();
    await cloned.drop();
  });
});

/**
 * Creates the catalog table in which Citus lists its tables, and adds the table `name` to it.
 * @param method `h` for a distributed table, `n` for a reference table.
 */
async function addToCitusCatalog(name: string, method: 'h' | 'n'): Promise<void> {
  await database.sql(`SET allow_system_table_mods = on;
    CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char");
    GRANT SELECT ON pg_catalog.pg_dist_partition TO PUBLIC;
    INSERT INTO pg_catalog.pg_dist_partition VALUES ('countersign.${name}', '${method}', 't')`);
}

describe('isDistributed', () => {
  test('is false for a database without Citus', async () => {
    expect(await isDistributed(pool)).toBe(false);
  });

  test('is false if Citus lists only reference tables, and true if it also lists a distributed table', async () => {
    await addToCitusCatalog('people', 'n');
    expect(await isDistributed(pool)).toBe(false);
    await database.sql(`INSERT INTO pg_catalog.pg_dist_partition VALUES ('countersign.traces', 'h', 's')`);
    expect(await isDistributed(pool)).toBe(true);
  });
});

test('migrate --citus refuses a database without the extension', async () => {
  await expect(migrate(database.owner, { citus: true })).rejects.toThrow('the database has no extension citus');
});
