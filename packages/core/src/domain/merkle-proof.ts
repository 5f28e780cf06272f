import { foldRight, HASH_BYTES, nodeHash, type Sha256 } from './merkle-tree.ts';

/** The leaves from `start` (included) to `end` (excluded), as one subtree: an element of a proof. */
export interface LeafRange {
  start: number;
  end: number;
}

/** A complete subtree by its place. */
export interface NodePlace {
  level: number;
  index: number;
}

/** The subtrees whose hashes prove that leaf `index` is in the tree of `size` leaves, from the leaf up (RFC 6962, section 2.1.1). */
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

/** The subtrees whose hashes prove that the tree of `first` leaves is a prefix of that of `second` (RFC 6962, section 2.1.2). */
export function consistencyRanges(first: number, second: number): LeafRange[] {
  if (!(Number.isSafeInteger(first) && first >= 0 && first <= second))
    throw new RangeError(`a tree of ${first} leaves is not a prefix of one of ${second}`);
  if (first === 0 || first === second) return [];
  const ranges: LeafRange[] = [];
  let [start, end] = [0, second];
  let whole = true; // whether the subtree still starts at leaf 0: then it ends as the first tree, whose root the verifier knows
  while (end !== first) {
    const split = start + largestPowerBelow(end - start);
    if (first <= split) {
      ranges.push({ start: split, end });
      end = split;
    } else {
      ranges.push({ start, end: split });
      start = split;
      whole = false;
    }
  }
  if (!whole) ranges.push({ start, end });
  return ranges.reverse();
}

/** The complete subtrees of a range, largest first. Ranges of a proof are aligned, so the sizes decrease. */
export function completeSubtrees({ start, end }: LeafRange): NodePlace[] {
  const places: NodePlace[] = [];
  for (let at = start; at < end; ) {
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= end) level += 1;
    places.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return places;
}

/** The hash of a range from those of its complete subtrees. */
export const rangeHash = (range: LeafRange, hashOf: (place: NodePlace) => Uint8Array, sha256: Sha256): Uint8Array =>
  foldRight(completeSubtrees(range).map(hashOf), sha256);

/** The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2); undefined if an argument or the length of the proof is wrong. */
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
 * The two roots that a consistency proof leads to (RFC 9162, section 2.1.4.2). Undefined if the proof has the wrong length, or unless
 * 0 < `first` < `second`.
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
  let [old, fresh] = [seed, seed];
  for (const hash of path) {
    if (last === 0) return undefined;
    if (node % 2 === 1 || node === last) {
      old = nodeHash(hash, old, sha256);
      fresh = nodeHash(hash, fresh, sha256);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      fresh = nodeHash(fresh, hash, sha256);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? { first: old, second: fresh } : undefined;
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
