import { foldRight, HASH_BYTES, nodeHash, type Sha256 } from './merkle-tree.ts';

/** The leaves from `start` (included) to `end` (excluded). They form one subtree, whose hash is an element of a proof. */
export interface LeafRange {
  start: number;
  end: number;
}

/** The position of a complete subtree: its root is the node at `index` from the left on `level`. The leaves are level 0. */
export interface NodePosition {
  level: number;
  index: number;
}

/**
 * Returns the subtrees whose hashes prove that leaf `index` is in the tree of `size` leaves, from the leaf up (RFC 6962, section 2.1.1).
 * @throws RangeError unless 0 <= `index` < `size`
 */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  if (!(Number.isSafeInteger(index) && index >= 0 && index < size))
    throw new RangeError(`leaf ${index} is not in a tree of ${size} leaves`);
  const ranges: LeafRange[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const split = start + largestPowerBelow(end - start);
    if (index < split) {
      ranges.push({ start: split, end });
      end = split;
    } else {
      ranges.push({ start, end: split });
      start = split;
    }
  }
  return ranges.reverse();
}

/**
 * Returns the subtrees whose hashes prove that the tree of `first` leaves is a prefix of the tree of `second` leaves (RFC 6962, section
 * 2.1.2). Empty if `first` is 0 or equals `second`.
 * @throws RangeError unless 0 <= `first` <= `second`
 */
export function consistencyRanges(first: number, second: number): LeafRange[] {
  if (!(Number.isSafeInteger(first) && first >= 0 && first <= second))
    throw new RangeError(`a tree of ${first} leaves is not a prefix of a tree of ${second} leaves`);
  if (first === 0 || first === second) return [];
  const ranges: LeafRange[] = [];
  let [start, end] = [0, second];
  // If this is still true after the loop, the subtree is the first tree. The verifier has its root, so the proof does not contain it.
  let startsAtFirstLeaf = true;
  while (end !== first) {
    const split = start + largestPowerBelow(end - start);
    if (first <= split) {
      ranges.push({ start: split, end });
      end = split;
    } else {
      ranges.push({ start, end: split });
      start = split;
      startsAtFirstLeaf = false;
    }
  }
  if (!startsAtFirstLeaf) ranges.push({ start, end });
  return ranges.reverse();
}

/** Divides a range of a proof into complete subtrees, from left to right. Ranges of proofs are aligned, so the sizes decrease. */
export function completeSubtrees({ start, end }: LeafRange): NodePosition[] {
  const positions: NodePosition[] = [];
  for (let at = start; at < end; ) {
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= end) level += 1;
    positions.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return positions;
}

/** Computes the hash of a range from the hashes of its complete subtrees. */
export const rangeHash = (range: LeafRange, hashOf: (position: NodePosition) => Uint8Array, sha256: Sha256): Uint8Array =>
  foldRight(completeSubtrees(range).map(hashOf), sha256);

/**
 * Computes the root from a leaf hash and its inclusion proof (RFC 9162, section 2.1.3.2). Undefined if the leaf hash or the proof has the
 * wrong length, or if `index` is not from 0 to `size` - 1.
 */
export function rootOfInclusion(
  index: number,
  size: number,
  leaf: Uint8Array,
  proof: readonly Uint8Array[],
  sha256: Sha256,
): Uint8Array | undefined {
  if (!(Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size && leaf.length === HASH_BYTES))
    return undefined;
  let [node, last] = [index, size - 1];
  let root = leaf;
  for (const hash of proof) {
    if (last === 0) return undefined;
    if (node % 2 === 1 || node === last) {
      root = nodeHash(hash, root, sha256);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      root = nodeHash(root, hash, sha256);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : undefined;
}

/**
 * Computes both roots from a consistency proof (RFC 9162, section 2.1.4.2). The caller compares them with the known roots. Undefined if the
 * proof has the wrong length, or if `first` is not from 1 to `second` - 1.
 */
export function rootsOfConsistency(
  first: number,
  second: number,
  firstRoot: Uint8Array,
  proof: readonly Uint8Array[],
  sha256: Sha256,
): { first: Uint8Array; second: Uint8Array } | undefined {
  if (!(Number.isSafeInteger(first) && Number.isSafeInteger(second) && first > 0 && first < second)) return undefined;
  // If the first tree is a complete subtree, its root is the first element of the path, and the proof does not contain it.
  const path = isPowerOfTwo(first) ? [firstRoot, ...proof] : [...proof];
  const seed = path.shift();
  if (seed === undefined) return undefined;
  let [node, last] = [first - 1, second - 1];
  while (node % 2 === 1) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  let [computedFirst, computedSecond] = [seed, seed];
  for (const hash of path) {
    if (last === 0) return undefined;
    if (node % 2 === 1 || node === last) {
      computedFirst = nodeHash(hash, computedFirst, sha256);
      computedSecond = nodeHash(hash, computedSecond, sha256);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      computedSecond = nodeHash(computedSecond, hash, sha256);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? { first: computedFirst, second: computedSecond } : undefined;
}

/** The largest power of two that is smaller than n, for n of 2 and more. */
function largestPowerBelow(n: number): number {
  let power = 1;
  while (power * 2 < n) power *= 2;
  return power;
}

function isPowerOfTwo(n: number): boolean {
  let power = 1;
  while (power < n) power *= 2;
  return power === n;
}
