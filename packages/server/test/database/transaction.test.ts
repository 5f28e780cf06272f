import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { documentArray, textArray } from '../../src/database/binary-array.ts';
import { isWorthRetrying, openPool } from '../../src/database/pool.ts';
import { inTenantTransaction, sql, type Transaction } from '../../src/database/transaction.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;
let pool: ReturnType<typeof openPool>;

beforeAll(async () => {
  database = await cloneDatabase();
  pool = openPool(database.owner, { size: 1, name: 'test' });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const ECHO = sql<{ text: string | null }>('echo', 'SELECT $1::text AS text');
const LENGTH = sql<{ n: number }>('length', 'SELECT octet_length($1::bytea)::int AS n');
const LIST = sql<{ list: string[] }>('list', 'SELECT $1::text[] AS list');
const FAIL = sql('fail', 'SELECT 1 / $1::int AS n');
const TENANT = '00000000-0000-7000-8000-000000000001';

const inTransaction = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => inTenantTransaction(pool, TENANT, work);
const settle = async (promises: Promise<unknown>[]) =>
  (await Promise.allSettled(promises)).map((each) => (each.status === 'fulfilled' ? each.value : (each.reason as Error).message));

describe('statements of a transaction', () => {
  test('return their rows in order, when first run and when already prepared', async () => {
    const two = sql<{ a: number; b: boolean }>('two', 'SELECT n AS a, n > $1::int AS b FROM generate_series(1, 2) AS n');
    for (let round = 0; round < 2; round += 1) {
      const all = inTransaction((tx) => settle([tx.run(ECHO, ['a']), tx.run(two, [1]), tx.run(ECHO, [null])]));
      expect(await all).toEqual([
        [{ text: 'a' }],
        [
          { a: 1, b: false },
          { a: 2, b: true },
        ],
        [{ text: null }],
      ]);
    }
  });

  test('are sent in one write if they are issued in one tick', async () => {
    const client = await pool.connect();
    const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
    client.release();
    const writes = vi.spyOn(stream, '_writev');
    await inTransaction(async (tx) => {
      await settle([tx.run(ECHO, ['a']), tx.run(ECHO, ['b'])]); // with BEGIN and the setting of the tenant
      await settle([tx.run(ECHO, ['c']), tx.commit()]);
    });
    expect(writes).toHaveBeenCalledTimes(2);
    writes.mockRestore();
  });

  test('carry parameters of several types and sizes unchanged', async () => {
    const long = 'ü'.repeat(100_000);
    const documents = [Buffer.alloc(5_000, 'a'), Buffer.alloc(0), null, Buffer.alloc(70_000, 'b')];
    const all = inTransaction((tx) =>
      settle([
        tx.run(ECHO, [long]),
        tx.run(LENGTH, [new Uint8Array(9)]),
        tx.run(LENGTH, [Buffer.alloc(1_000_000)]),
        tx.run(ECHO, [12]),
        tx.run(ECHO, [true]),
        tx.run(ECHO, ['']),
        tx.run(LIST, [['a"b', 'c\\d', '', 'NULL', 'e,{f}', null]]),
        tx.run(LIST, [textArray(['binary', null])]),
        tx.run(LIST, [documentArray(documents)]),
        tx.run(LIST, [[]]),
      ]),
    );
    expect(await all).toEqual([
      [{ text: long }],
      [{ n: 9 }],
      [{ n: 1_000_000 }],
      [{ text: '12' }],
      [{ text: 'true' }],
      [{ text: '' }],
      [{ list: ['a"b', 'c\\d', '', 'NULL', 'e,{f}', null] }],
      [{ list: ['binary', null] }],
      [{ list: documents.map((document) => document?.toString() ?? null) }],
      [{ list: [] }],
    ]);
  });

  test('change nothing after a failed statement, fail with its error, and can be used in a later transaction', async () => {
    await pool.query('CREATE TEMP TABLE seen (n int)');
    const insertSeen = sql('insert_seen', 'INSERT INTO pg_temp.seen VALUES (1)');
    const count = sql<{ n: number }>('count_seen', 'SELECT count(*)::int AS n FROM pg_temp.seen');
    let results: unknown;
    const failing = inTransaction(async (tx) => {
      results = await settle([
        tx.run(ECHO, ['before']),
        tx.run(FAIL, [0]),
        tx.run(insertSeen, []),
        tx.run(insertSeen, []),
        tx.run(ECHO, ['after']),
      ]);
    });
    await expect(failing).rejects.toThrow('division by zero');
    expect(results).toEqual([[{ text: 'before' }], ...Array(4).fill('division by zero')]);
    const laterResults = inTransaction((tx) =>
      settle([tx.run(count, []), tx.run(insertSeen, []), tx.run(insertSeen, []), tx.run(count, []), tx.run(FAIL, [1])]),
    );
    expect(await laterResults).toEqual([[{ n: 0 }], [], [], [{ n: 2 }], [{ n: 1 }]]);
  });
});

describe('a transaction', () => {
  test('reports the first failure even if only its commit is awaited', async () => {
    const failing = inTransaction(async (tx) => {
      tx.send(FAIL, [0]);
      tx.send(ECHO, ['never']);
      await tx.commit();
    });
    const error = await failing.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: 'division by zero', code: '22012' });
    expect(isWorthRetrying(error)).toBe(true);
  });

  test('is not left open when its work fails before any statement', async () => {
    await expect(inTransaction(() => Promise.reject(new Error('at once')))).rejects.toThrow('at once');
    const { rows } = await pool.query(
      `SELECT current_setting('countersign.tenant_id', true) AS tenant, now() = statement_timestamp() AS is_new_transaction`,
    );
    expect(rows).toEqual([{ tenant: '', is_new_transaction: true }]);
  });

  test('fails with the error of a statement even if its work catches that error', async () => {
    const failing = inTransaction(async (tx) => {
      await tx.run(FAIL, [0]).catch(() => undefined);
      await expect(tx.run(ECHO, ['later'])).rejects.toThrow('division by zero');
    });
    await expect(failing).rejects.toThrow('division by zero');
    expect(await inTransaction((tx) => tx.run(ECHO, ['next']))).toEqual([{ text: 'next' }]);
  });

  test('is not reported as committed when its BEGIN failed, although COMMIT then succeeds', async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as (config: unknown) => unknown;
    client.query = ((config: { name?: string }) =>
      query(config.name === 'BEGIN' ? { name: 'no_begin', text: 'SELECT 1 / 0' } : config)) as typeof client.query;
    client.release();
    try {
      const outcome = inTransaction((tx) => {
        tx.send(ECHO, ['unprotected']);
        return Promise.resolve('committed');
      });
      await expect(outcome).rejects.toThrow('division by zero');
    } finally {
      client.query = query as typeof client.query;
    }
  });
});
