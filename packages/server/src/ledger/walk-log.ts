import { setImmediate } from 'node:timers/promises';
import type { ChainReport, Contradiction, FirstBad } from '@countersign/core/domain/chain-report';
import { RowTimes } from '@countersign/core/domain/clock-correction';
import { HASH_BYTES, type TreeNode } from '@countersign/core/domain/merkle-tree';
import { type NoteKey, sameBytes } from '@countersign/core/domain/signed-note';
import { type KeptHead, TreeVerifier } from '@countersign/core/domain/tree-verifier';
import type { Pool } from 'pg';
import { sha256 } from '../crypto/digests.ts';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { type LogExtent, readLogExtent } from '../storage/ledger.ts';
import type { LogName } from '../storage/log-heads.ts';
import { readTreeNodes, STORED_LEVEL_STEP } from '../storage/tree.ts';
import { openFrontier } from './log-tree.ts';
import { readCorrections, readRestores } from './operator-entries.ts';
import { sealFault } from './sealed-heads.ts';
import { StoredCheckpoints } from './stored-checkpoints.ts';
import { readStoredPages } from './stored-pages.ts';

/** The options of a walk. */
export interface WalkOptions {
  /** The keys of the stored checkpoints; without them, the signatures are not checked. */
  keys?: readonly NoteKey[] | undefined;
  /** Heads that were stored outside the database. They are compared with the log. */
  keptHeads?: readonly KeptHead[];
  /** Called after each page with the number of rows that were checked until then. */
  progress?: ((rows: number) => void) | undefined;
  /** Awaited after each page, to limit the load on the database. */
  pause?: (() => Promise<void>) | undefined;
}

/** The fault of a row, or its hash in hex. The hash is the leaf data of the row. */
export type RowCheck = { fault: string } | { hash: string };

/** How the rows of one log are read and checked. */
export interface LogRows<Row> {
  log: LogName;
  /** Whether the head contains the hash of the last row. */
  isChained: boolean;
  read: (tx: Transaction, after: number, last: number) => Promise<Row[]>;
  /**
   * Checks the row that should have number `seq`. Returns a promise only if it must read more, because awaiting costs more than the check.
   * @param times checks the times of the rows, in order.
   */
  check(row: Row, seq: number, times: RowTimes): RowCheck | Promise<RowCheck>;
}

const ROWS_BETWEEN_READS = 64;

/**
 * Verifies a log in the database: each row, the head, the stored tree, every stored checkpoint, and the heads in `keptHeads`. It checks the
 * rows that existed at the start, and stops at the first row with a fault. It keeps no transaction open, so it can run while the server is
 * busy.
 */
export async function walkLog<Row extends { seq: number }>(
  pool: Pool,
  tenantId: string,
  { log, isChained, read, check }: LogRows<Row>,
  { keys, keptHeads = [], progress, pause }: WalkOptions = {},
): Promise<ChainReport> {
  const checkpoints = await StoredCheckpoints.open(pool, { tenantId, log, keys });
  // The corrections are read after the extent, so that they include every correction before its last row.
  const { extent, corrections } = await inTenantTransaction(pool, tenantId, async (tx) => ({
    extent: await readSealedExtent(tx, log),
    corrections: await readCorrections(tx),
  }));
  const times = new RowTimes(log, corrections);
  const tree = new TreeVerifier(sha256, keptHeads);
  addFrontier(tree, extent);
  const leaf = Buffer.alloc(HASH_BYTES);
  const walked = { seq: 0, hash: null as string | null };
  const reportWith = (firstBad?: FirstBad): ChainReport => ({ tenantId, entries: walked.seq, head: walked.hash, firstBad });
  for await (const page of readStoredPages(pool, tenantId, { log, read, ...extent })) {
    await addCheckpoints(tree, checkpoints, page.at(-1)!.seq);
    const nodes: TreeNode[] = [];
    const collect = (node: TreeNode) => nodes.push(node);
    for (const row of page) {
      const pending = check(row, walked.seq + 1, times);
      const result = pending instanceof Promise ? await pending : pending;
      if ('fault' in result) return reportWith({ seq: walked.seq + 1, reason: result.fault });
      walked.seq += 1;
      walked.hash = result.hash;
      leaf.write(result.hash, 'hex');
      tree.append(leaf, collect);
      // Lets this process receive the next page between checks of rows. PostgreSQL pauses while its output is not read.
      if (walked.seq % ROWS_BETWEEN_READS === 0) await setImmediate();
    }
    await compareNodes(pool, tenantId, { log, tree, nodes, size: extent.head?.tree.size ?? 0 });
    progress?.(walked.seq);
    await pause?.();
  }
  const bad = headFault(walked, extent.head, isChained);
  if (bad !== undefined) return reportWith(bad);
  await addCheckpoints(tree, checkpoints, Number.MAX_SAFE_INTEGER);
  return { ...reportWith(), contradiction: (await findContradiction(pool, tenantId, log, tree)) ?? sealContradiction(extent) };
}

/** Finds the contradiction of a tree, if there is one. Its reason names the accepted restore that can explain it. */
async function findContradiction(
  pool: Pool,
  tenantId: string,
  log: LogName,
  tree: TreeVerifier,
): Promise<Contradiction | undefined> {
  const contradiction = tree.end(log, tenantId);
  return contradiction && tree.end(log, tenantId, await inTenantTransaction(pool, tenantId, readRestores));
}

/** Adds the tree that is stored with the head, to be compared with the tree over the rows. */
function addFrontier(tree: TreeVerifier, { head }: LogExtent): void {
  if (head === undefined) return;
  const { size } = head.tree;
  const source = `the stored tree of ${size} rows`;
  try {
    tree.add([{ source, size, root: openFrontier(head.tree).root() }]);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    tree.contradict({ source, size, reason: `its hashes do not form a tree: ${error.message}` });
  }
}

/** The extent of a log, with the fault of its head's seal, if any. */
type SealedExtent = LogExtent & { sealFault: string | undefined };

async function readSealedExtent(tx: Transaction, log: LogName): Promise<SealedExtent> {
  const extent = await readLogExtent(tx, log);
  return { ...extent, sealFault: extent.head === undefined ? undefined : sealFault(tx, log, extent.head) };
}

const sealContradiction = ({ sealFault, lastSeq }: SealedExtent): Contradiction | undefined =>
  sealFault === undefined ? undefined : { source: 'the stored head', size: lastSeq, reason: sealFault };

/** Adds the stored checkpoints up to a size, to be compared with the tree over the rows. */
async function addCheckpoints(tree: TreeVerifier, checkpoints: StoredCheckpoints, size: number): Promise<void> {
  const { heads, contradiction } = await checkpoints.readUpTo(size);
  tree.add(heads);
  if (contradiction !== undefined) tree.contradict(contradiction);
}

/** Compares the stored tree nodes with the rows, because proofs are made from these nodes. */
async function compareNodes(
  pool: Pool,
  tenantId: string,
  { log, tree, nodes, size }: { log: LogName; tree: TreeVerifier; nodes: readonly TreeNode[]; size: number },
): Promise<void> {
  const expectedNodes = nodes.filter(({ level, index }) => level % STORED_LEVEL_STEP === 0 && (index + 1) * 2 ** level <= size);
  if (expectedNodes.length === 0) return;
  const storedNodes = await inTenantTransaction(pool, tenantId, (tx) =>
    Promise.all(expectedNodes.map(({ level, index }) => readTreeNodes(tx, log, level, index, index + 1))),
  );
  for (const [position, { level, index, hash }] of expectedNodes.entries()) {
    const stored = storedNodes[position]!;
    if (sameBytes(stored, hash)) continue;
    const [first, last] = [index * 2 ** level + 1, (index + 1) * 2 ** level];
    const reason = `${stored.length === 0 ? 'it is gone' : 'it differs from the rows'}: proofs made from it are not valid`;
    tree.contradict({ source: `the stored subtree of rows ${first} to ${last}`, size: last, reason });
  }
}

/** How the head differs from the last row; undefined if it matches. */
function headFault(
  walked: { seq: number; hash: string | null },
  head: LogExtent['head'],
  isChained: boolean,
): FirstBad | undefined {
  const seq = walked.seq + 1;
  if (head === undefined) return { seq, reason: "the log's head row is gone" };
  if (head.seq > walked.seq)
    return { seq, reason: `the row is gone: the head says that the log has ${head.seq} rows, so its tail was cut off` };
  if (head.seq < walked.seq) {
    const reason =
      `the head says that the log ends at ${head.seq}, but there are more rows: ` +
      'the head was moved back, or the rows were inserted';
    return { seq: head.seq + 1, reason };
  }
  if (isChained && head.rowHash !== walked.hash)
    return {
      seq: walked.seq,
      reason: `the head says that the last row has the hash ${head.rowHash}, but the row has ${walked.hash}`,
    };
  return undefined;
}
