import { expect, test } from 'vitest';
import { Admission } from '../../src/database/admission.ts';
import { BatchWriter, type Item } from '../../src/database/batch-writer.ts';
import { Slots } from '../../src/database/slots.ts';

const item: Item = { bytes: 1, foldKeys: [] };

test('splits 64 waiting requests into two batches and writes 16 in one', async () => {
  const sizes: number[] = [];
  const writer = new BatchWriter<Item, true>({
    name: 'test',
    itemsMax: 128,
    inFlightMax: 1,
    admission: new Admission(1_000_000),
    slots: new Slots(1),
    write: async (_tenant, items) => {
      sizes.push(items.length);
      return items.map(() => true as const);
    },
  });
  await Promise.all(Array.from({ length: 64 }, () => writer.submit('tenant', item)));
  expect(sizes.slice(0, 2)).toEqual([32, 32]);
  sizes.length = 0;
  await Promise.all(Array.from({ length: 16 }, () => writer.submit('tenant', item)));
  expect(sizes).toEqual([16]);
});
