import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MIGRATIONS_FOLDER } from '../../src/database/migrations-folder.ts';
import { separateStatements } from '../../src/database/separate-statements.ts';

test.each([
  ['a semicolon ends a statement', 'SELECT 1; SELECT 2;\n', ['SELECT 1', 'SELECT 2']],
  ['the last semicolon may be missing', 'SELECT 1', ['SELECT 1']],
  [
    'a semicolon in a string or quoted name ends no statement',
    `SELECT ';', 'it''s; "' AS ";"; SELECT 2`,
    [`SELECT ';', 'it''s; "' AS ";"`, 'SELECT 2'],
  ],
  [
    'a semicolon in dollar quotes ends no statement',
    'DO $$ BEGIN; END $$; DO $f$ x; $$; $f$',
    ['DO $$ BEGIN; END $$', 'DO $f$ x; $$; $f$'],
  ],
  ['a comment belongs to the next statement', '-- a; b\nSELECT 1 - 1 / 2; /* c; d */', ['-- a; b\nSELECT 1 - 1 / 2']],
  ['a parameter starts no dollar quotes', 'SELECT $1; SELECT $2', ['SELECT $1', 'SELECT $2']],
  ['comments and semicolons alone are no statement', ' -- only a comment\n ; ;', []],
])('%s', (_what, sql, statements) => {
  expect(separateStatements(sql)).toEqual(statements);
});

test('the separated statements of a migration contain its whole text, apart from white space and semicolons', () => {
  const files = readdirSync(MIGRATIONS_FOLDER).filter((name) => /^\d{6}_.*\.sql$/.test(name));
  for (const name of files) {
    const sql = readFileSync(join(MIGRATIONS_FOLDER, name), 'utf8');
    const statements = separateStatements(sql);
    expect(statements.length).toBeGreaterThan(0);
    expect(`${statements.join(';').replaceAll(/[\s;]+/g, '')}`).toBe(sql.replaceAll(/[\s;]+/g, ''));
  }
});
