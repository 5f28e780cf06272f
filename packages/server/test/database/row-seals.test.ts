import { rowSealMessage, type SealedValue } from '@countersign/core/domain/row-seal';
import { describe, expect, test } from 'vitest';
import { vectors } from '../../../core/test/vectors.ts';
import { BrokenSeals } from '../../src/database/broken-seals.ts';
import { rawName, type SealedTable } from '../../src/database/sealed-table.ts';
import { Seals } from '../../src/database/seals.ts';

/** Test vectors made by examples/verify/make_vectors.py, which shares no code with the service. */
const golden = vectors('row-seals');
const seals = new Seals(new Uint8Array(Buffer.from(golden.master_secret, 'hex')));

interface Case {
  table: string;
  tenant_id: string;
  version: number;
  values: (string | null | { hex: string })[];
  message: string;
  seal: string;
}

type Row = Record<string, SealedValue>;

const sealedValueOf = (value: Case['values'][number]): SealedValue =>
  typeof value === 'object' && value !== null ? Buffer.from(value.hex, 'hex') : value;
const tableOf = ({ table, version, values }: Case): SealedTable<Row> => ({
  name: table,
  version,
  columns: values.map((_, index) => ({ field: `f${index}`, column: `c${index}`, kind: 'plain' as const })),
  identifyingFields: ['f0'],
});
const rowOf = ({ values }: Case): Row => Object.fromEntries(values.map((value, index) => [`f${index}`, sealedValueOf(value)]));
const rawOf = (each: Case, seal: unknown) => {
  const table = tableOf(each);
  const fields = Object.entries(rowOf(each)).map(([field, value]) => [rawName(table, field), value]);
  return Object.fromEntries([...fields, [rawName(table, 'seal'), seal]]);
};

describe.each(golden.cases as Case[])('a row of $table: $values', (each) => {
  const seal = Buffer.from(each.seal, 'hex');

  test('has the seal that the independent program computes', () => {
    const sealed = { table: each.table, tenantId: each.tenant_id, version: each.version, values: each.values.map(sealedValueOf) };
    expect(Buffer.from(rowSealMessage(sealed)).toString('hex')).toBe(each.message);
    expect(seals.ofRow(tableOf(each), each.tenant_id, rowOf(each)).toString('hex')).toBe(each.seal);
    expect(seals.openRow(tableOf(each), each.tenant_id, rawOf(each, seal))).toEqual(rowOf(each));
  });

  test('is rejected without a seal, or if a value, the row, table version, tenant, seal or master secret differs', () => {
    const table = tableOf(each);
    const openSealed = (raw: Record<string, unknown>, expected?: Partial<Row>, sealedTable = table, tenant = each.tenant_id) =>
      seals.openRow(sealedTable, tenant, raw, expected);
    for (const field of Object.keys(rowOf(each)))
      for (const other of ['', 'other', null, Buffer.alloc(32, 1), 7, undefined, ['other']]) {
        if (other === rowOf(each)[field]) continue;
        expect(
          openSealed({ ...rawOf(each, seal), [rawName(table, field)]: other }),
          `${field}: ${String(other)}`,
        ).toBeUndefined();
      }
    expect(openSealed(rawOf(each, seal), { f0: 'another row' })).toBeUndefined();
    expect(openSealed(rawOf(each, seal), {}, { ...table, version: 2 })).toBeUndefined();
    expect(openSealed(rawOf(each, seal), {}, table, '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f25')).toBeUndefined();
    for (const wrongSeal of [null, undefined, '', seal.subarray(0, 32), Buffer.concat([seal, Buffer.of(0)]), Buffer.alloc(33)])
      expect(openSealed(rawOf(each, wrongSeal))).toBeUndefined();
    expect(new Seals(new Uint8Array(32)).openRow(table, each.tenant_id, rawOf(each, seal))).toBeUndefined();
  });
});

test('a seal distinguishes values that were moved between adjacent columns', () => {
  const messageOf = (...values: SealedValue[]) =>
    Buffer.from(rowSealMessage({ table: 't', tenantId: '', version: 1, values })).toString('hex');
  const messages = [messageOf('ab', 'c'), messageOf('a', 'bc'), messageOf('abc', ''), messageOf('abc', null), messageOf('abc')];
  expect(new Set(messages).size).toBe(messages.length);
});

test('each broken seal is counted, each row is reported once, and long values are truncated', () => {
  const testSeals = new Seals(new Uint8Array(32));
  const table: SealedTable<{ id: string }> = {
    name: 'sessions',
    version: 1,
    columns: [{ field: 'id', column: 'id', kind: 'plain' }],
    identifyingFields: ['id'],
  };
  const reportedIds: string[] = [];
  testSeals.broken.listen(({ key }) => reportedIds.push(key.id!));
  expect(testSeals.broken.summary).toBeUndefined();
  for (const id of ['one', 'one', 'x'.repeat(5000)])
    testSeals.openRow(table, '', { [rawName(table, 'id')]: id, [rawName(table, 'seal')]: null });
  expect(reportedIds).toEqual(['one', 'x'.repeat(200)]);
  expect(testSeals.broken.counts.get('sessions')).toBe(3);
  expect(testSeals.broken.summary).toContain('sessions (2 rows)');
  expect(testSeals.broken.summary).not.toContain('one');
});

test('after 1,000 rows of another table were rejected, the summary still names the first table, but no longer its rows', () => {
  const broken = new BrokenSeals();
  const report = (table: string, id: number) => broken.report({ table, tenantId: undefined, key: { kid: `key-${id}` } });
  report('signing_keys', 1);
  report('signing_keys', 2);
  expect(broken.summary).toContain('does not use them: signing_keys (key-1, key-2);');
  for (let id = 0; id < 1000; id += 1) report('sessions', id);
  expect(broken.summary).toContain('signing_keys;');
});
