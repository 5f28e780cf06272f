import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { appendEntries, entryOf } from '../../src/ledger/append.ts';
import { RememberedHeads } from '../../src/ledger/remembered-heads.ts';
import { verifyAuditLedger } from '../../src/ledger/verify-audit-ledger.ts';
import type { HeadToMove } from '../../src/storage/log-heads.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const START = Date.parse('2026-11-21T08:00:00.000Z');
const head = (seq: number, members: Partial<HeadToMove> = {}): HeadToMove => ({
  seq,
  rowHash: 'ab'.repeat(32),
  now: '2026-11-21T08:00:00.000Z',
  clock: '2026-11-21T08:00:00.000Z',
  receivedAtMs: START - 5_000,
  tree: { size: seq, frontier: new Uint8Array(32) },
  ...members,
});

describe('RememberedHeads', () => {
  let now: number;
  let heads: RememberedHeads;
  beforeAll(() => {
    now = START - 5_000; // the clock of this process is five seconds behind the database
    const clock = () => now;
    heads = new RememberedHeads(clock, clock);
  });

  test('returns nothing before a head was remembered', () => {
    expect(heads.get('t')).toBeUndefined();
  });

  test("returns the head with the estimated time of the database's clock, and the same head as the guess to check in the database", () => {
    heads.remember('t', head(7));
    now += 1_500;
    expect(heads.get('t')).toMatchObject({
      seq: 7,
      now: '2026-11-21T08:00:01.500Z',
      guessed: { seq: 7, rowHash: 'ab'.repeat(32) },
    });
  });

  test("returns nothing while the last row's time is ahead of the estimated clock, so that the writer reads the head and waits", () => {
    heads.remember('t', head(8, { now: '2026-11-21T08:00:01.800Z', guessed: { seq: 7, rowHash: null } }));
    expect(heads.get('t')).toBeUndefined();
    now += 300;
    expect(heads.get('t')).toMatchObject({ seq: 8, now: '2026-11-21T08:00:01.800Z', guessed: { seq: 8 } });
  });

  test('drops a head after a wrong guess, and remembers heads again after one second', () => {
    heads.drop('t', true);
    expect(heads.get('t')).toBeUndefined();
    heads.remember('t', head(9));
    expect(heads.get('t')).toBeUndefined();
    now += 1_001;
    heads.remember('t', head(10));
    expect(heads.get('t')).toMatchObject({ seq: 10 });
    heads.remember('t', head(11, { guessed: { seq: 10, rowHash: null } }));
  });

  test('returns nothing after a minute, so that the clocks are compared again', () => {
    now += 60_001;
    expect(heads.get('t')).toBeUndefined();
  });
});

describe('RememberedHeads after a failed batch', () => {
  const fixedClock = () => START;
  const headsAfterOneBatch = () => {
    const heads = new RememberedHeads(fixedClock, fixedClock);
    heads.remember('t', head(1));
    return heads;
  };

  test('returns nothing after a failure other than a wrong guess, until the next batch has read the head', () => {
    const heads = headsAfterOneBatch();
    heads.drop('t', false);
    expect(heads.get('t')).toBeUndefined();
    heads.remember('t', head(2));
    expect(heads.get('t')).toMatchObject({ seq: 2 });
  });

  test('remembers heads again immediately if an earlier failed batch of this server caused the wrong guess', () => {
    const heads = headsAfterOneBatch();
    heads.drop('t', false);
    heads.drop('t', true);
    heads.remember('t', head(2));
    expect(heads.get('t')).toMatchObject({ seq: 2 });
  });
});

test('after RememberedHeads dropped all heads because of too many tenants, it does not remember a head that was guessed before', () => {
  let now = START;
  const clock = () => now;
  const heads = new RememberedHeads(clock, clock);
  heads.remember('t', head(1));
  const { guessed } = heads.get('t')!;
  for (let other = 0; other < 10_000; other += 1) heads.remember(`other-${other}`, head(1));
  now += 30_000;
  heads.remember('t', head(2, { guessed: guessed! }));
  expect(heads.get('t')).toBeUndefined();
});

test('RememberedHeads returns no head a minute after the clock was read, even if the transaction took most of that minute', () => {
  let now = 0;
  const heads = new RememberedHeads(
    () => now,
    () => now,
  );
  now = 50_000;
  heads.remember('t', head(1, { receivedAtMs: 0 }));
  expect(heads.get('t')).toMatchObject({ seq: 1 });
  now = 60_001;
  expect(heads.get('t')).toBeUndefined();
});

test.for([-3_600_000, 3_600_000])('RememberedHeads returns no head after the wall clock was moved by %i ms', (stepMs) => {
  let wall = START;
  const heads = new RememberedHeads(
    () => 1_000,
    () => wall,
  );
  heads.remember('t', head(1, { receivedAtMs: 1_000 }));
  wall += stepMs;
  expect(heads.get('t')).toBeUndefined();
  heads.remember('t', head(2, { clock: new Date(wall).toISOString(), now: new Date(wall).toISOString(), receivedAtMs: 1_000 }));
  expect(heads.get('t')).toMatchObject({ seq: 2 });
});

describe('appending after a remembered head', () => {
  let server: TestServer;
  let tenantId: string;
  let key: string;
  const append = async (action: string) => {
    const { status, headers } = await server.post(paths.audit, key, { actor: 'ci', action });
    expect(status).toBe(200);
    return Number(headers.get('countersign-ledger-seq'));
  };
  beforeAll(async () => {
    server = await testServer();
    tenantId = await server.workspace();
    key = await server.key(tenantId);
  });

  test('gives an entry the current time, although the transaction before it took a second', async () => {
    const workspace = await server.workspace();
    const sender = await server.key(workspace);
    const send = (action: string) => server.post(paths.audit, sender, { actor: 'ci', action });
    const lockTable = 'LOCK TABLE countersign.audit_entries IN EXCLUSIVE MODE; PERFORM pg_sleep(1.2)';
    const tableLock = server.database.sql(`DO $$ BEGIN ${lockTable}; END $$`);
    await sleep(200);
    expect((await send('slow')).status).toBe(200);
    await tableLock;
    const [before] = await server.database.sql<{ now: Date }>('SELECT clock_timestamp() AS now');
    expect((await send('next')).status).toBe(200);
    const [next] = await server.database.sql<{ recorded_at: Date }>(
      'SELECT recorded_at FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq DESC LIMIT 1',
      [workspace],
    );
    expect(before!.now.getTime() - next!.recorded_at.getTime()).toBeLessThan(500);
  });

  test('notices that another server has appended entries, and keeps the chain valid', async () => {
    const other = await testServer({ database: server.database });
    const seqs: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      seqs.push(await append('here'), await append('here'));
      await other.post(paths.audit, key, { actor: 'ci', action: 'there' });
    }
    expect(seqs).toEqual([1, 2, 4, 5, 7, 8, 10, 11]);
    expect(await verifyAuditLedger(server.open.pool, tenantId)).toMatchObject({ entries: 12, firstBad: undefined });
  });

  test('accepts the head in the database after a transaction that had moved the head was rolled back', async () => {
    const rolledBack = inTenantTransaction(server.open.pool, tenantId, async (tx) => {
      const { audit } = await lockLogs(tx, ['audit']);
      appendEntries(tx, audit, [entryOf({ recorded_by: 'operator', actor: 'operator', action: 'workspace.renamed' })]);
      await lockLogs(tx, ['audit']);
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    const response = await server.post(
      paths.audit,
      key,
      { actor: 'ci', action: 'after' },
      { 'idempotency-key': 'reads the head' },
    );
    expect(response.status).toBe(200);
  });

  test('rejects a database that was reset to an earlier state; a server that has not seen the later state accepts it', async () => {
    const last = await append('kept');
    await server.database.sql('CREATE TABLE backup AS SELECT * FROM countersign.log_heads WHERE tenant_id = $1', [tenantId]);
    await append('lost');
    await append('lost');
    await server.database.sql('ALTER TABLE countersign.audit_entries DISABLE TRIGGER ALL');
    await server.database.sql('DELETE FROM countersign.audit_entries WHERE tenant_id = $1 AND seq > $2', [tenantId, last]);
    await server.database.sql('DELETE FROM countersign.log_heads WHERE tenant_id = $1', [tenantId]);
    await server.database.sql('INSERT INTO countersign.log_heads SELECT * FROM backup');
    expect(await server.post(paths.audit, key, { actor: 'ci', action: 'after' })).toMatchObject({
      status: 500,
      body: { error: 'log_rewritten' },
    });
    const restarted = await testServer({ database: server.database });
    expect((await restarted.post(paths.audit, key, { actor: 'ci', action: 'after' })).status).toBe(200);
    expect(await verifyAuditLedger(restarted.open.pool, tenantId)).toMatchObject({ entries: last + 1, firstBad: undefined });
  });
});
