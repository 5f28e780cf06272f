import {
  completeSubtrees,
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  type NodePosition,
  rangeHash,
  rootOfInclusion,
  rootsOfConsistency,
} from '@countersign/core/domain/merkle-proof';
import { completeRoot, Frontier, HASH_BYTES, leafHash, leafHashes, type TreeNode } from '@countersign/core/domain/merkle-tree';
import { sameBytes } from '@countersign/core/domain/signed-note';
import { sha256 } from '../crypto/digests.ts';
import type { Transaction } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import type { LogName, StoredTree } from '../storage/log-heads.ts';
import { readLeafData, readTreeNodes, STORED_LEVEL_STEP, storedBelow } from '../storage/tree.ts';

/** A stored log differs from what the server wrote. The request that finds the difference returns no signature and no proof. */
export class LogRewrittenError extends ApiError {
  override name = 'LogRewrittenError';

  /** @param message for the operator; the caller only learns that the log was changed and where to look. */
  constructor(message: string) {
    super('log_rewritten', [{ path: '', code: 'log_rewritten', message: CALLER_MESSAGE }]);
    this.message = message;
  }
}

const CALLER_MESSAGE =
  'the stored log differs from what was signed: rows were changed, added or deleted. Verify an export with the checkpoints that you kept. The operator can find the row with `countersign-server ledger verify`';

/** A tree after rows were appended. `nodes` are the roots of the newly complete subtrees at the stored levels. */
export interface GrownTree extends StoredTree {
  nodes: TreeNode[];
  /** The current root of the tree. */
  root: () => Uint8Array;
}

/** Creates the Frontier of a stored tree. @throws RangeError if the number of its hashes does not match its size. */
export function openFrontier({ size, frontier }: StoredTree): Frontier {
  return new Frontier(sha256, size, hashesIn(frontier));
}

/** Splits concatenated hashes or leaf data, 32 bytes each. An incomplete hash at the end is dropped. */
export const hashesIn = (bytes: Uint8Array): Uint8Array[] =>
  Array.from({ length: bytes.length / HASH_BYTES }, (_, index) => bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES));

/** Computes the tree after the leaf data of rows is appended, with O(1) hashes per row on average. */
export function growTree(tree: StoredTree, rows: readonly Uint8Array[]): GrownTree {
  const frontier = openFrontier(tree);
  const nodes: TreeNode[] = [];
  for (const data of rows) {
    frontier.append(data, (node) => {
      if (node.level % STORED_LEVEL_STEP === 0) nodes.push(node);
    });
  }
  return { size: frontier.size, frontier: Buffer.concat(frontier.roots), nodes, root: () => frontier.root() };
}

/** The inclusion proof of row `index` (from 0) in the tree of the first `size` rows. Throws like `readStoredRoot`. */
export const proveInclusion = (tx: Transaction, log: LogName, index: number, size: number): Promise<Uint8Array[]> =>
  hashesOf(tx, log, inclusionRanges(index, size));

/** Whether the tree of this sealed head has this leaf data (32 bytes) at row `seq`. Throws like `readStoredRoot`. */
export async function isIncluded(
  tx: Transaction,
  log: LogName,
  { seq, leafData }: { seq: number; leafData: Uint8Array },
  head: { seq: number; tree: StoredTree },
): Promise<boolean> {
  if (seq > head.seq) return false;
  const hashes = await proveInclusion(tx, log, seq - 1, head.seq);
  const root = rootOfInclusion(seq - 1, head.seq, leafHash(leafData, sha256), hashes, sha256);
  return root !== undefined && sameBytes(root, openFrontier(head.tree).root());
}

/**
 * The consistency proof between the tree of the first `first` rows and the tree of the first `second` rows. Throws like `readStoredRoot`.
 */
export const proveConsistency = (tx: Transaction, log: LogName, first: number, second: number): Promise<Uint8Array[]> =>
  hashesOf(tx, log, consistencyRanges(first, second));

/** The root over the first `size` rows, from the stored rows and nodes. @throws LogRewrittenError if stored hashes are missing. */
export async function readStoredRoot(tx: Transaction, log: LogName, size: number): Promise<Uint8Array> {
  if (size === 0) return sha256(new Uint8Array());
  const [root] = await hashesOf(tx, log, [{ start: 0, end: size }]);
  return root!;
}

/**
 * The tree of the first `size` rows, for the caller to extend by the later rows. The tree is untrusted: compare the extended tree with the
 * sealed head. Throws like `readStoredRoot`.
 */
export async function readStoredTree(tx: Transaction, log: LogName, size: number): Promise<Frontier> {
  const subtrees = completeSubtrees({ start: 0, end: size }).map(({ level, index }) => ({
    start: index * 2 ** level,
    end: (index + 1) * 2 ** level,
  }));
  return new Frontier(sha256, size, await hashesOf(tx, log, subtrees));
}

/** The size of a tree, and its root, 32 bytes. */
interface TreeRoot {
  size: number;
  root: Uint8Array;
}

/**
 * Whether the stored rows and nodes show that the log with the size and root of `second` begins with the rows of `first`. The stored
 * hashes are untrusted. So both roots are computed from one consistency proof, and compared with the given roots. Throws like
 * `readStoredRoot`.
 */
export async function isExtension(tx: Transaction, log: LogName, first: TreeRoot, second: TreeRoot): Promise<boolean> {
  if (first.size === 0) return sameBytes(first.root, sha256(new Uint8Array()));
  if (first.size >= second.size) return first.size === second.size && sameBytes(first.root, second.root);
  const proof = await proveConsistency(tx, log, first.size, second.size);
  const roots = rootsOfConsistency(first.size, second.size, first.root, proof, sha256);
  return roots !== undefined && sameBytes(roots.first, first.root) && sameBytes(roots.second, second.root);
}

/**
 * Computes the hashes of ranges in one round trip. For each stored level and each end of a range, it reads at most 255 hashes. It also
 * reads the hashes between two needed runs if there are at most GAP_MAX of them.
 */
async function hashesOf(tx: Transaction, log: LogName, ranges: readonly LeafRange[]): Promise<Uint8Array[]> {
  const places = ranges.flatMap(completeSubtrees);
  const runs = await Promise.all(runsBelow(places).map((run) => readRun(tx, log, run)));
  const nodeAt = (place: NodePosition) => {
    const below = storedBelow(place);
    const { first, hashes } = runs.find((run) => coversRun(run, below))!;
    return completeRoot(hashes.subarray((below.first - first) * HASH_BYTES, (below.end - first) * HASH_BYTES), sha256);
  };
  const known = new Map(places.map((place) => [`${place.level}/${place.index}`, nodeAt(place)]));
  return ranges.map((range) => rangeHash(range, ({ level, index }) => known.get(`${level}/${index}`)!, sha256));
}

/** A run of adjacent hashes of one stored level. */
type Run = ReturnType<typeof storedBelow>;

const coversRun = (run: Run, { level, first, end }: Run): boolean => run.level === level && run.first <= first && end <= run.end;

/** The largest gap within a run. Reading the unneeded hashes in gaps reduces about twenty statements to five. */
const GAP_MAX = 2 ** STORED_LEVEL_STEP;

/** The runs to read for the nodes at these places. Runs with a gap of at most GAP_MAX between them are joined. */
function runsBelow(places: readonly NodePosition[]): Run[] {
  const runs: Run[] = [];
  for (const next of places.map(storedBelow).sort((one, other) => one.level - other.level || one.first - other.first)) {
    const last = runs.at(-1);
    if (last?.level === next.level && next.first - last.end <= GAP_MAX) last.end = Math.max(last.end, next.end);
    else runs.push({ ...next });
  }
  return runs;
}

async function readRun(tx: Transaction, log: LogName, run: Run): Promise<Run & { hashes: Uint8Array }> {
  const { level, first, end } = run;
  const stored = await (level === 0 ? readLeafData(tx, log, first, end) : readTreeNodes(tx, log, level, first, end));
  if (stored.length !== (end - first) * HASH_BYTES)
    throw new LogRewrittenError(
      `the tree of log ${log} of tenant ${tx.tenantId} lacks some of the nodes ${first} to ${end - 1} of level ${level}`,
    );
  return { ...run, hashes: level === 0 ? leafHashes(stored, sha256) : stored };
}
