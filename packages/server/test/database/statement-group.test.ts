import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { textArray } from '../../src/database/binary-array.ts';
import { Pieces } from '../../src/database/frontend-messages.ts';
import { isWorthRetrying, openPool } from '../../src/database/pool.ts';
import { StatementGroup } from '../../src/database/statement-group.ts';
import { inTenantTransaction, sql } from '../../src/database/transaction.ts';
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
const FAIL = sql('fail', 'SELECT 1 / $1::int AS n');
const TENANT = '00000000-0000-7000-8000-000000000001';

/** Sends a group on the only connection. */
async function send(group: StatementGroup): Promise<void> {
  const client = await pool.connect();
  try {
    await new Promise((resolve) => {
      group.callback = resolve;
      client.query(group);
    });
  } finally {
    client.release();
  }
}
const outcomesOf = async (promises: Promise<unknown>[]) =>
  (await Promise.allSettled(promises)).map((each) =>
    each.status === 'fulfilled' ? (each.value as { rows: unknown[] }).rows : (each.reason as Error).message,
  );

describe('a group of statements', () => {
  test('returns the rows of each statement in order, the first time and when prepared', async () => {
    const two = sql<{ a: number; b: boolean }>('two', 'SELECT n AS a, n > $1::int AS b FROM generate_series(1, 2) AS n');
    for (let round = 0; round < 2; round += 1) {
      const group = new StatementGroup();
      const all = outcomesOf([group.add(ECHO, ['a']), group.add(two, [1]), group.add(ECHO, [null])]);
      await send(group);
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

  test('sends parameters of every type and size intact, also in pieces', async () => {
    const long = 'ü'.repeat(100_000);
    const bytes = [Buffer.alloc(5_000, 1), Buffer.alloc(3, 2), Buffer.alloc(70_000, 3)];
    const array = sql<{ list: string[] }>('array', 'SELECT $1::text[] AS list');
    const group = new StatementGroup();
    const all = outcomesOf([
      group.add(ECHO, [long]),
      group.add(LENGTH, [new Pieces(bytes, 75_003)]),
      group.add(LENGTH, [new Uint8Array(9)]),
      group.add(LENGTH, [Buffer.alloc(1_000_000)]),
      group.add(ECHO, [12]),
      group.add(ECHO, [true]),
      group.add(ECHO, ['']),
      group.add(array, [['a"b', 'c\\d', '', 'NULL', 'e,{f}', null]]),
      group.add(array, [textArray(['binary', null])]),
      group.add(array, [[]]),
    ]);
    await send(group);
    expect(await all).toEqual([
      [{ text: long }],
      [{ n: 75_003 }],
      [{ n: 9 }],
      [{ n: 1_000_000 }],
      [{ text: '12' }],
      [{ text: 'true' }],
      [{ text: '' }],
      [{ list: ['a"b', 'c\\d', '', 'NULL', 'e,{f}', null] }],
      [{ list: ['binary', null] }],
      [{ list: [] }],
    ]);
  });

  test('runs nothing after a failed statement, and statements not yet prepared can be used later', async () => {
    const late = sql('late', `INSERT INTO pg_temp.seen VALUES (1)`);
    const first = new StatementGroup();
    const made = outcomesOf([first.add(sql('make', 'CREATE TEMP TABLE seen (n int)'), [])]);
    await send(first);
    expect(await made).toEqual([[]]);
    const group = new StatementGroup();
    const all = outcomesOf([group.add(ECHO, ['before']), group.add(FAIL, [0]), group.add(late, []), group.add(ECHO, ['behind'])]);
    await send(group);
    expect(await all).toEqual([[{ text: 'before' }], 'division by zero', 'division by zero', 'division by zero']);
    const next = new StatementGroup();
    const count = sql<{ n: number }>('count_seen', 'SELECT count(*)::int AS n FROM pg_temp.seen');
    const again = outcomesOf([next.add(count, []), next.add(late, []), next.add(count, []), next.add(FAIL, [1])]);
    await send(next);
    expect(await again).toEqual([[{ n: 0 }], [], [{ n: 1 }], [{ n: 1 }]]);
  });

  test('fails as a whole without sending when a value cannot be a parameter; the connection stays usable', async () => {
    const unsent = sql<{ n: number }>('unsent', 'SELECT 7 AS n');
    const group = new StatementGroup();
    const all = outcomesOf([group.add(unsent, []), group.add(ECHO, [() => 'b'])]);
    await send(group);
    expect(await all).toEqual(Array(2).fill('a function cannot be a parameter of a statement'));
    const next = new StatementGroup();
    const again = outcomesOf([next.add(ECHO, ['c']), next.add(unsent, [])]);
    await send(next);
    expect(await again).toEqual([[{ text: 'c' }], [{ n: 7 }]]);
  });
});

describe('a transaction', () => {
  test('reports the first failure of a group whichever statement was awaited', async () => {
    const failing = inTenantTransaction(pool, TENANT, async (tx) => {
      tx.send(FAIL, [0]);
      tx.send(ECHO, ['never']);
      await tx.commit();
    });
    const error = await failing.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: 'division by zero', code: '22012' });
    expect(isWorthRetrying(error)).toBe(true);
  });

  test('leaves nothing open when it fails before anything was sent', async () => {
    const failing = inTenantTransaction(pool, TENANT, () => Promise.reject(new Error('at once')));
    await expect(failing).rejects.toThrow('at once');
    const [{ rows }] = [
      await pool.query(`SELECT current_setting('countersign.tenant_id', true) AS tenant, now() = statement_timestamp() AS begun`),
    ];
    expect(rows).toEqual([{ tenant: '', begun: true }]);
  });

  test('is not committed after a failure and reports it', async () => {
    const failing = inTenantTransaction(pool, TENANT, async (tx) => {
      await tx.run(FAIL, [0]).catch(() => undefined);
      await expect(tx.run(ECHO, ['later'])).rejects.toThrow('division by zero');
    });
    await expect(failing).rejects.toThrow('division by zero');
    expect(await inTenantTransaction(pool, TENANT, (tx) => tx.run(ECHO, ['next']))).toEqual([{ text: 'next' }]);
  });
});
