/**
 * The Merkle tree of RFC 6962, section 2.1 (unchanged in RFC 9162): leaf = SHA-256(0x00 || data), node = SHA-256(0x01 || left || right).
 * The whole tree is never in memory. A frontier is enough to append and to compute the root. A proof needs only some nodes.
 */

/** Returns the SHA-256 of bytes, 32 bytes. The caller passes this function, as it passes the functions of digests.ts. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

/** The length of a hash in bytes. */
export const HASH_BYTES = 32;

/** Buffers for the input of `sha256`, reused because each row needs about two hashes. `sha256` reads its input before it returns. */
const leafBytes = new Uint8Array(1 + HASH_BYTES);
const nodeBytes = new Uint8Array(1 + 2 * HASH_BYTES);

/** The hash of a leaf, from its data. */
export function leafHash(data: Uint8Array, sha256: Sha256): Uint8Array {
  const bytes = data.length === HASH_BYTES ? leafBytes : new Uint8Array(1 + data.length);
  bytes.set(data, 1);
  return sha256(bytes);
}

/** The hash of a node, from the hashes of its children. */
export function nodeHash(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array {
  const areHashes = left.length === HASH_BYTES && right.length === HASH_BYTES;
  const bytes = areHashes ? nodeBytes : new Uint8Array(nodeBytes.length);
  bytes[0] = 1;
  bytes.set(left, 1);
  bytes.set(right, 1 + HASH_BYTES);
  return sha256(bytes);
}

/** Returns the concatenated leaf hashes of concatenated leaf data. The data of each leaf has HASH_BYTES bytes. */
export function leafHashes(data: Uint8Array, sha256: Sha256): Uint8Array {
  const hashes = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += HASH_BYTES) hashes.set(leafHash(data.subarray(at, at + HASH_BYTES), sha256), at);
  return hashes;
}

/** The root over concatenated leaf hashes. Their number must be a power of two. */
export function completeRoot(hashes: Uint8Array, sha256: Sha256): Uint8Array {
  const level = new Uint8Array(hashes); // Copies even a Buffer, whose slice() would return only a view.
  // Each level overwrites the one below: the hash of a pair is written at or before the position of its left hash.
  for (let length = level.length; length > HASH_BYTES; length /= 2) {
    for (let at = 0; at < length; at += 2 * HASH_BYTES) {
      nodeBytes[0] = 1;
      nodeBytes.set(level.subarray(at, at + 2 * HASH_BYTES), 1);
      level.set(sha256(nodeBytes), at / 2);
    }
  }
  return level.subarray(0, HASH_BYTES);
}

/** A complete subtree: the node at `index` from the left on `level`. The leaves are level 0. */
export interface TreeNode {
  level: number;
  index: number;
  hash: Uint8Array;
}

/**
 * The frontier of a tree: the roots of its largest complete subtrees, from left to right, at most 53. Appending needs nothing else.
 */
export class Frontier {
  /** The number of leaves. */
  size: number;
  /** One hash for each bit set in `size`, the largest subtree first. */
  readonly #roots: Uint8Array[];
  readonly #sha256: Sha256;

  /** @throws RangeError if a tree of `size` leaves has another number of roots */
  constructor(sha256: Sha256, size = 0, roots: readonly Uint8Array[] = []) {
    if (roots.length !== countSetBits(size))
      throw new RangeError(`a tree of ${size} leaves has ${countSetBits(size)} complete subtrees, got ${roots.length}`);
    this.#sha256 = sha256;
    this.size = size;
    this.#roots = [...roots];
  }

  /** The roots of the complete subtrees, to be stored. */
  get roots(): readonly Uint8Array[] {
    return this.#roots;
  }

  /** Appends one leaf by its data. @param onNodeCompleted is called for each inner node that the new leaf completes. */
  append(data: Uint8Array, onNodeCompleted?: (node: TreeNode) => void): void {
    let hash = leafHash(data, this.#sha256);
    let index = this.size;
    for (let level = 1; index % 2 === 1; level += 1) {
      hash = nodeHash(this.#roots.pop()!, hash, this.#sha256);
      index = (index - 1) / 2;
      onNodeCompleted?.({ level, index, hash });
    }
    this.#roots.push(hash);
    this.size += 1;
  }

  /** The root of the tree. The root of an empty tree is the SHA-256 of zero bytes (RFC 6962, section 2.1). */
  root(): Uint8Array {
    if (this.#roots.length === 0) return this.#sha256(new Uint8Array());
    return foldRight(this.#roots, this.#sha256);
  }
}

/** Combines the roots of complete subtrees of decreasing size into one root, from the right. Throws RangeError if there are none. */
export function foldRight(hashes: readonly Uint8Array[], sha256: Sha256): Uint8Array {
  let hash = hashes.at(-1);
  if (hash === undefined) throw new RangeError('there are no roots to combine');
  for (let index = hashes.length - 2; index >= 0; index -= 1) hash = nodeHash(hashes[index]!, hash, sha256);
  return hash;
}

function countSetBits(size: number): number {
  let count = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
}
