import { createHash } from 'node:crypto';
import { Frontier } from '@countersign/core/domain/merkle-tree';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/crypto/digests.ts';
import type { Transaction } from '../../src/database/transaction.ts';
import { LogFold } from '../../src/ledger/log-fold.ts';
import type { HeadToMove } from '../../src/storage/log-heads.ts';

/** A state that only counts its events. */
class Count {
  size = 0;
  apply(): void {
    this.size += 1;
  }
}

const PAGE = 500;
const DOCUMENT = '{}';

/** The head of a log with this number of equal events. */
function headOf(seq: number): Pick<HeadToMove, 'seq' | 'tree'> {
  const tree = new Frontier(sha256);
  for (let count = 0; count < seq; count += 1) tree.append(createHash('sha256').update(DOCUMENT).digest());
  return { seq, tree: { size: seq, frontier: Buffer.concat(tree.roots) } };
}

/** A fold of logs whose states weigh as much as they have events, and the workspaces whose events were read. */
function foldOf(weightMax: number) {
  const reads: string[] = [];
  const fold = new LogFold<object, Count>({
    log: 'evidence',
    domain: '',
    read: async ({ tenantId }, after, last) => {
      reads.push(tenantId);
      return Array.from({ length: Math.min(PAGE, last - after) }, (_, place) => ({ seq: after + place + 1, document: DOCUMENT }));
    },
    parse: (event) => ({ event: event as object }),
    create: () => new Count(),
    weight: ({ size }) => size,
    weightMax,
  });
  return { fold, reads };
}

test('states that grow after their first use are dropped too, the least recently used one first, and are read again', async () => {
  const { fold, reads } = foldOf(2_500);
  const seals = {} as Transaction['seals'];
  const size = async (tenantId: string, seq: number) => (await fold.atHead({ seals, tenantId } as Transaction, headOf(seq))).size;
  for (const tenant of ['one', 'two', 'three']) expect(await size(tenant, 1)).toBe(1);
  for (const tenant of ['one', 'two', 'three']) expect(await size(tenant, 1_000)).toBe(1_000);
  expect(fold.covering(seals, 'one', 1)).toBeUndefined();
  expect([fold.covering(seals, 'two', 1)?.size, fold.covering(seals, 'three', 1)?.size]).toEqual([1_000, 1_000]);
  reads.length = 0;
  expect(await size('two', 1_000)).toBe(1_000);
  expect(reads).toEqual([]);
  expect(await size('one', 1_000)).toBe(1_000);
  expect(reads).toEqual(['one', 'one']);
});

test('a state that is heavier than all states together may be is kept while it is used', async () => {
  const { fold } = foldOf(100);
  const seals = {} as Transaction['seals'];
  expect((await fold.atHead({ seals, tenantId: 'one' } as Transaction, headOf(3_000))).size).toBe(3_000);
  expect(fold.covering(seals, 'one', 3_000)?.size).toBe(3_000);
});
