import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  completeSubtrees,
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  type NodePosition,
  rangeHash,
  rootOfInclusion,
  rootsOfConsistency,
} from '../../src/domain/merkle-proof.ts';
import { completeRoot, Frontier, leafHash, leafHashes, nodeHash, type TreeNode } from '../../src/domain/merkle-tree.ts';
import { sha256 } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

const published = vectors('merkle-rfc6962');
const hex = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString('hex'));
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));
const leafData = (index: number) => new TextEncoder().encode(`leaf ${index}`);

/** The root by the recursive definition of RFC 6962. */
function naiveRoot(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256(new Uint8Array());
  if (leaves.length === 1) return leaves[0]!;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return nodeHash(naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split)), sha256);
}

/** A tree of `size` leaves, with the hashes of its ranges. */
function tree(size: number) {
  const leaves = Array.from({ length: size }, (_, index) => leafHash(leafData(index), sha256));
  const hashOf = ({ level, index }: NodePosition) => naiveRoot(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level));
  return {
    leaves,
    root: (first = size) => naiveRoot(leaves.slice(0, first)),
    hashes: (ranges: LeafRange[]) => ranges.map((range) => rangeHash(range, hashOf, sha256)),
  };
}

describe('Merkle tree (RFC 6962)', () => {
  test('leafHashes and completeRoot compute the hashes of the recursive definition, and completeRoot does not change its argument', () => {
    for (const count of [1, 2, 4, 64]) {
      const rows = Array.from({ length: count }, (_, index) => sha256(leafData(index)));
      const leaves = rows.map((row) => leafHash(row, sha256));
      const concatenated = leafHashes(Buffer.concat(rows), sha256);
      expect(hex(concatenated)).toBe(hex(Buffer.concat(leaves)));
      expect(hex(completeRoot(concatenated, sha256))).toBe(hex(naiveRoot(leaves)));
      expect(hex(concatenated)).toBe(hex(Buffer.concat(leaves)));
    }
  });

  test('has the published root at every size', () => {
    const frontier = new Frontier(sha256);
    for (const [size, root] of published.roots.entries()) {
      expect(hex(frontier.root())).toBe(root);
      if (size < published.leaves.length) frontier.append(bytes(published.leaves[size]));
    }
  });

  test('verifies the published proofs', () => {
    for (const { index, size, proof } of published.inclusion) {
      expect(hex(rootOfInclusion(index, size, leafHash(bytes(published.leaves[index]), sha256), proof.map(bytes), sha256))).toBe(
        published.roots[size],
      );
    }
    for (const { first, second, proof } of published.consistency.filter(
      (each: { first: number; second: number }) => each.first < each.second,
    )) {
      const roots = rootsOfConsistency(first, second, bytes(published.roots[first]), proof.map(bytes), sha256)!;
      expect([hex(roots.first), hex(roots.second)]).toEqual([published.roots[first], published.roots[second]]);
    }
  });

  test('the frontier has the recursively computed root at every size up to 300, even when created from saved roots', () => {
    const frontier = new Frontier(sha256);
    const { leaves } = tree(300);
    for (let size = 0; size <= 300; size += 1) {
      expect(hex(frontier.root())).toBe(hex(naiveRoot(leaves.slice(0, size))));
      expect(hex(new Frontier(sha256, frontier.size, frontier.roots).root())).toBe(hex(frontier.root()));
      frontier.append(leafData(size));
    }
  });

  test('an append reports each node that it completes, with the recursively computed hash', () => {
    const frontier = new Frontier(sha256);
    const nodes: TreeNode[] = [];
    for (let index = 0; index < 64; index += 1) frontier.append(leafData(index), (node) => nodes.push(node));
    const { leaves } = tree(64);
    expect(nodes).toHaveLength(63);
    for (const { level, index, hash } of nodes)
      expect(hex(hash)).toBe(hex(naiveRoot(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))));
  });

  test('rejects a frontier with the wrong number of roots for its size', () => {
    expect(() => new Frontier(sha256, 3, [sha256(leafData(0))])).toThrow(RangeError);
  });
});

describe('Merkle proofs', () => {
  test('prove every leaf of every tree up to size 70, and fail with another index or proof length', () => {
    for (let size = 1; size <= 70; size += 1) {
      const { leaves, root, hashes } = tree(size);
      for (let index = 0; index < size; index += 1) {
        const proof = hashes(inclusionRanges(index, size));
        expect(hex(rootOfInclusion(index, size, leaves[index]!, proof, sha256))).toBe(hex(root()));
        expect(hex(rootOfInclusion((index + 1) % (size + 1), size, leaves[index]!, proof, sha256))).not.toBe(hex(root()));
        expect(rootOfInclusion(index, size, leaves[index]!, [...proof, leaves[0]!], sha256)).toBeUndefined();
        if (proof.length > 0) expect(rootOfInclusion(index, size, leaves[index]!, proof.slice(1), sha256)).toBeUndefined();
      }
    }
  });

  test('prove that every tree is a prefix of every larger tree up to size 70, and fail when altered', () => {
    for (let second = 2; second <= 70; second += 1) {
      const { root, hashes } = tree(second);
      for (let first = 1; first < second; first += 1) {
        const proof = hashes(consistencyRanges(first, second));
        const roots = rootsOfConsistency(first, second, root(first), proof, sha256);
        expect([hex(roots?.first), hex(roots?.second)]).toEqual([hex(root(first)), hex(root())]);
        const altered = proof.map((hash, index) => (index === proof.length - 1 ? sha256(hash) : hash));
        expect(hex(rootsOfConsistency(first, second, root(first), altered, sha256)?.second)).not.toBe(hex(root()));
      }
    }
  });

  test('have at most 41 ranges for inclusion in up to 2^40 rows; each range consists of complete subtrees, the largest first', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 40 }), fc.nat(), (size, seed) => {
        const index = seed % size;
        for (const range of [...inclusionRanges(index, size), ...consistencyRanges(Math.max(1, index), size)]) {
          const subtrees = completeSubtrees(range);
          expect(subtrees.reduce((leaves, { level }) => leaves + 2 ** level, 0)).toBe(range.end - range.start);
          expect(subtrees.map(({ level }) => level)).toEqual(
            [...subtrees.map(({ level }) => level)].sort((left, right) => right - left),
          );
        }
        expect(inclusionRanges(index, size).length).toBeLessThanOrEqual(41);
      }),
    );
  });

  test('reject an index outside the tree, and a pair of sizes for which there is no proof', () => {
    for (const [index, size] of [
      [-1, 3],
      [3, 3],
      [0, 0],
      [0.5, 3],
      [Number.NaN, 3],
    ] as const) {
      expect(() => inclusionRanges(index, size)).toThrow(RangeError);
      expect(rootOfInclusion(index, size, sha256(leafData(0)), [], sha256)).toBeUndefined();
    }
    expect(() => consistencyRanges(4, 3)).toThrow(RangeError);
    expect(rootsOfConsistency(0, 3, sha256(leafData(0)), [], sha256)).toBeUndefined();
    expect(rootsOfConsistency(3, 3, sha256(leafData(0)), [], sha256)).toBeUndefined();
  });
});
