import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsText } from '../../src/database/schema-findings.ts';
import { readSchemaFacts } from '../../src/storage/schema-facts.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

/** The schema from PostgreSQL's catalog, one fact per line, in a fixed order. */
async function schemaText(): Promise<string> {
  const lines = async (title: string, text: string) => {
    const rows = await database.sql<{ line: string }>(text);
    return `-- ${title}\n${rows.map(({ line }) => line).join('\n')}\n`;
  };
  const parts = [
    await lines(
      'columns',
      `SELECT format('%s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
              CASE WHEN d.adbin IS NULL THEN '' ELSE ' default ' || pg_get_expr(d.adbin, d.adrelid) END,
              CASE WHEN a.attstorage = 'e' THEN ' storage external' ELSE '' END) AS line
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'countersign'::regnamespace AND c.relkind = 'r' ORDER BY c.relname, a.attnum`,
    ),
    await lines(
      'constraints',
      // PostgreSQL 18 also lists NOT NULL as a constraint. Versions 15 to 17 do not. The columns already include NOT NULL.
      `SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS line FROM pg_constraint
        WHERE connamespace = 'countersign'::regnamespace AND contype <> 'n' ORDER BY conrelid::regclass::text, conname`,
    ),
    await lines('indexes', `SELECT indexdef AS line FROM pg_indexes WHERE schemaname = 'countersign' ORDER BY indexdef`),
    await lines(
      'triggers (A: fired always)',
      `SELECT format('%s [%s]', pg_get_triggerdef(t.oid), t.tgenabled) AS line FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace = 'countersign'::regnamespace AND NOT t.tgisinternal ORDER BY 1`,
    ),
    await lines(
      'row-level security',
      `SELECT format('%s enabled %s forced %s using %s check %s', c.relname, c.relrowsecurity, c.relforcerowsecurity, p.qual, p.with_check) AS line
         FROM pg_class c LEFT JOIN pg_policies p ON p.schemaname = 'countersign' AND p.tablename = c.relname
        WHERE c.relnamespace = 'countersign'::regnamespace AND c.relkind = 'r' ORDER BY c.relname, p.policyname`,
    ),
    await lines(
      "rights of the server's role",
      `SELECT format('%s %s', table_name, string_agg(privilege_type, ', ' ORDER BY privilege_type)) AS line FROM information_schema.role_table_grants
        WHERE table_schema = 'countersign' AND grantee = 'countersign_server' GROUP BY table_name ORDER BY table_name`,
    ),
    await lines(
      "columns that the server's role may change, where not the whole row",
      `SELECT format('%s %s', c.table_name, string_agg(c.column_name, ', ' ORDER BY c.column_name)) AS line
         FROM information_schema.role_column_grants c
        WHERE c.table_schema = 'countersign' AND c.grantee = 'countersign_server' AND c.privilege_type = 'UPDATE'
          AND NOT EXISTS (SELECT 1 FROM information_schema.role_table_grants t WHERE t.table_schema = c.table_schema AND t.table_name = c.table_name
                            AND t.grantee = c.grantee AND t.privilege_type = 'UPDATE')
        GROUP BY c.table_name ORDER BY c.table_name`,
    ),
  ];
  return `-- Made by packages/server/test/database/schema.test.ts from a migrated database; renew it with -u and read its diff.\n\n${parts.join('\n')}`;
}

describe('the schema of a migrated database', () => {
  test('equals migrations/schema.snapshot.sql', async () => {
    await expect(await schemaText()).toMatchFileSnapshot('../../migrations/schema.snapshot.sql');
  });

  test('has the facts of migrations/schema.facts.txt, with which servers compare their databases', async () => {
    const facts = factsText(
      await readSchemaFacts({ query: async (text: string) => ({ rows: await database.sql(text) }) } as never),
    );
    expect(facts.split('\n').length).toBeGreaterThan(400);
    await expect(facts).toMatchFileSnapshot('../../migrations/schema.facts.txt');
  });

  test('all tenant tables except two have tenant_id first in their keys, and all except one have row-level security', async () => {
    const tables = await database.sql<{ table: string; definition: string }>(
      `SELECT c.relname AS table, pg_get_constraintdef(k.oid) AS definition FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
        WHERE c.relnamespace = 'countersign'::regnamespace AND k.contype IN ('p', 'f')
          AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')`,
    );
    // People belong to the instance, as tenants do, so other tables refer to them by person_id alone.
    const keysWithoutTenant = tables.filter(
      ({ definition }) =>
        !/^(PRIMARY|FOREIGN) KEY \(tenant_id[,)]|^FOREIGN KEY \(person_id\) REFERENCES countersign\.people/.test(definition),
    );
    // Rows of these two tables are looked up across tenants by key prefix or link hash, before the tenant is known.
    expect(keysWithoutTenant.map(({ table }) => table).sort()).toEqual(['ingestion_keys', 'one_time_links']);
    const tablesWithoutRowSecurity = await database.sql<{ table: string }>(
      `SELECT relname AS table FROM pg_class WHERE relnamespace = 'countersign'::regnamespace AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY 1`,
    );
    expect(tablesWithoutRowSecurity.map(({ table }) => table)).toEqual([
      'instance',
      'migrations',
      'one_time_links',
      'people',
      'sessions',
      'sign_in_attempts',
      'signing_keys',
      'tenants',
    ]);
  });
});
