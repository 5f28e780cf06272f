import pg from 'pg';
import { expect, test } from 'vitest';
import { Admission } from '../../src/database/admission.ts';
import { BatchWriter, type Item } from '../../src/database/batch-writer.ts';
import { Slots } from '../../src/database/slots.ts';

const item: Item = { bytes: 1, batchKeys: [] };
const itemWithKey = (key: string): Item => ({ bytes: 1, batchKeys: [key] });

/** The error of a batch whose rows another transaction has inserted first. */
const conflictError = () => Object.assign(new pg.DatabaseError('duplicate key', 0, 'error'), { code: '23505' });

test('a writer splits 64 waiting requests into two batches, and writes up to 16 in one', async () => {
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

test('a waiting batch also takes requests that arrive meanwhile, up to its maximum size, but never two with the same key', async () => {
  const batches: Item[][] = [];
  const released = Promise.withResolvers<void>();
  const writer = new BatchWriter<Item, number>({
    name: 'test',
    itemsMax: 4,
    inFlightMax: 1,
    admission: new Admission(1_000_000),
    slots: new Slots(1),
    write: async (_tenant, first, takeMore) => {
      if (batches.length === 0) await released.promise;
      const items = [...first, ...takeMore()];
      batches.push(items);
      return items.map((_, index) => index);
    },
  });
  const submittedItems = ['a', 'b', 'a', 'c', 'd', 'e'].map(itemWithKey);
  const first = writer.submit('tenant', submittedItems[0]!);
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  const others = submittedItems.slice(1).map((each) => writer.submit('tenant', each));
  released.resolve();
  expect(await Promise.all([first, ...others])).toEqual([0, 1, 0, 2, 3, 1]);
  expect(batches).toEqual([
    [submittedItems[0], submittedItems[1], submittedItems[3], submittedItems[4]],
    [submittedItems[2], submittedItems[5]],
  ]);
});

test('a batch that fails after it took more requests is retried with all of them', async () => {
  const sizes: number[] = [];
  const writer = new BatchWriter<Item, number>({
    name: 'test',
    itemsMax: 64,
    inFlightMax: 1,
    admission: new Admission(1_000_000),
    slots: new Slots(1),
    write: async (_tenant, first, takeMore) => {
      const lateRequest = sizes.length === 0 ? writer.submit('tenant', item) : undefined;
      const items = [...first, ...takeMore()];
      sizes.push(items.length);
      if (lateRequest !== undefined) throw conflictError();
      return items.map((_, index) => index);
    },
  });
  expect(await writer.submit('tenant', item)).toBe(0);
  expect(sizes).toEqual([2, 2]);
});

/** A writer of one batch at a time whose `write` fails with a conflict if `conflicts` returns true for the number of items. */
const conflictingWriter = (conflicts: (itemCount: number) => boolean) =>
  new BatchWriter<Item, true>({
    name: 'test',
    itemsMax: 64,
    inFlightMax: 1,
    admission: new Admission(1_000_000),
    slots: new Slots(1),
    write: async (_tenant, items) => {
      if (conflicts(items.length)) throw conflictError();
      return items.map(() => true as const);
    },
  });

test('a batch that conflicts at each try is split, and each of its requests is tried again', async () => {
  const tries = new Map<number, number>();
  const writer = conflictingWriter((itemCount) => {
    tries.set(itemCount, (tries.get(itemCount) ?? 0) + 1);
    return itemCount > 1 || tries.get(1) === 1;
  });
  expect(await Promise.all([writer.submit('tenant', item), writer.submit('tenant', item)])).toEqual([true, true]);
  expect([...tries]).toEqual([
    [2, 5],
    [1, 3],
  ]);
});

test('a request that conflicts at each try gets 503', async () => {
  const writer = conflictingWriter(() => true);
  await expect(writer.submit('tenant', item)).rejects.toMatchObject({ code: 'unavailable', status: 503 });
});
