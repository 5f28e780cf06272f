import { createHash } from 'node:crypto';
import { Frontier } from '@countersign/core/domain/merkle-tree';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/crypto/digests.ts';
import type { Transaction } from '../../src/database/transaction.ts';
import { rememberSeen } from '../../src/ledger/head-memory.ts';
import { LogFold } from '../../src/ledger/log-fold.ts';
import type { ReadHead } from '../../src/storage/log-heads.ts';

/** A state that only counts its events. */
class CountingState {
  size = 0;
  apply(): void {
    this.size += 1;
  }
}

const PAGE_EVENTS = 500;
const DOCUMENT = '{}';

/** The head of a log with this number of equal events. */
function headOf(seq: number): ReadHead {
  const tree = new Frontier(sha256);
  for (let count = 0; count < seq; count += 1) tree.append(createHash('sha256').update(DOCUMENT).digest());
  const stored = { seq, rowHash: null, lastMoment: null, tree: { size: seq, frontier: Buffer.concat(tree.roots) } };
  return { ...stored, seal: sealOf(seq), readAt: '' };
}

const sealOf = (seq: number): Uint8Array => Buffer.from(`seal of ${seq}`);

/** A fold that weighs each state by its number of events. `reads` contains the workspace of each page of events that was read. */
function foldOf(weightMax: number) {
  const reads: string[] = [];
  const fold = new LogFold<object, CountingState>({
    log: 'evidence',
    domain: '',
    read: async ({ tenantId }, after, last) => {
      reads.push(tenantId);
      return Array.from({ length: Math.min(PAGE_EVENTS, last - after) }, (_, index) => ({
        seq: after + index + 1,
        document: DOCUMENT,
      }));
    },
    parse: (event) => ({ event: event as object }),
    create: () => new CountingState(),
    weight: ({ size }) => size,
    weightMax,
  });
  return { fold, reads };
}

test('when states grow beyond the weight limit, the least recently used one is dropped and read again at its next use', async () => {
  const { fold, reads } = foldOf(2_500);
  const seals = {} as Transaction['seals'];
  const readSize = (tenantId: string, seq: number) =>
    fold.read({ seals, tenantId } as Transaction, (state) => state.size, headOf(seq));
  for (const tenant of ['one', 'two', 'three']) expect(await readSize(tenant, 1)).toBe(1);
  for (const tenant of ['one', 'two', 'three']) expect(await readSize(tenant, 1_000)).toBe(1_000);
  const cached = ['one', 'two', 'three'].map((tenantId) => fold.cached(seals, tenantId, sealOf(1_000))?.size);
  expect(cached).toEqual([undefined, 1_000, 1_000]);
  reads.length = 0;
  expect(await readSize('two', 1_000)).toBe(1_000);
  expect(reads).toEqual([]);
  expect(await readSize('one', 1_000)).toBe(1_000);
  expect(reads).toEqual(['one', 'one']);
});

test('the most recently used state is kept, even if it alone exceeds the weight limit of all states', async () => {
  const { fold } = foldOf(100);
  const seals = {} as Transaction['seals'];
  expect(await fold.read({ seals, tenantId: 'one' } as Transaction, ({ size }) => size, headOf(3_000))).toBe(3_000);
  expect(fold.cached(seals, 'one', sealOf(3_000))?.size).toBe(3_000);
});

test('`cached` returns the state only for the seal of the head that `read` last used, and not after `atHead` applied events', async () => {
  const { fold } = foldOf(100);
  const tx = { seals: {}, tenantId: 'one' } as Transaction;
  const cached = (seal: Uint8Array | null) => fold.cached(tx.seals, 'one', seal)?.size;
  await fold.read(tx, () => undefined, headOf(2));
  expect([sealOf(1), sealOf(2), sealOf(3), null].map(cached)).toEqual([undefined, 2, undefined, undefined]);
  await fold.atHead(tx, headOf(3));
  expect([sealOf(2), sealOf(3)].map(cached)).toEqual([undefined, undefined]);
  await fold.read(tx, () => undefined, headOf(3));
  expect([sealOf(2), sealOf(3)].map(cached)).toEqual([undefined, 3]);
});

test('`cached` returns no state after the process has seen a later head', async () => {
  const { fold } = foldOf(100);
  const tx = { seals: {}, tenantId: 'one' } as Transaction;
  await fold.read(tx, () => undefined, headOf(2));
  rememberSeen(tx, 'evidence', headOf(3).tree);
  expect(fold.cached(tx.seals, 'one', sealOf(2))).toBeUndefined();
});
