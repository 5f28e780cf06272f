"""Tests of trees and their proofs: the vectors of Certificate Transparency, the definitions of RFC 6962, and altered proofs."""

import sys

sys.dont_write_bytecode = True

import random
import unittest

import merkle
import proof_vectors
from golden import vectors


def tree_of(data):
    tree = merkle.Tree()
    for leaf in data:
        tree.append(leaf)
    return tree


class PublishedTree(unittest.TestCase):
    def setUp(self):
        published = vectors('merkle-rfc6962.json')
        self.published = published
        self.leaves = [bytes.fromhex(leaf) for leaf in published['leaves']]
        self.roots = [bytes.fromhex(root) for root in published['roots']]

    def test_its_roots_match_at_every_size(self):
        for size, root in enumerate(self.roots):
            self.assertEqual(tree_of(self.leaves[:size]).root(), root)
            self.assertEqual(proof_vectors.root_of(self.leaves[:size]), root)

    def test_its_inclusion_proofs_are_valid(self):
        for case in self.published['inclusion']:
            hashes = [bytes.fromhex(node) for node in case['proof']]
            leaf = merkle.leaf_hash(self.leaves[case['index']])
            merkle.check_inclusion(case['index'], case['size'], leaf, hashes, self.roots[case['size']])
            self.assertEqual(proof_vectors.inclusion(case['index'], self.leaves[: case['size']]), hashes)

    def test_its_consistency_proofs_are_valid(self):
        for case in self.published['consistency']:
            hashes = [bytes.fromhex(node) for node in case['proof']]
            merkle.check_consistency(case['first'], case['second'], hashes, self.roots[case['first']], self.roots[case['second']])
            self.assertEqual(proof_vectors.consistency(case['first'], self.leaves[: case['second']]), hashes)


class EveryTree(unittest.TestCase):
    def setUp(self):
        self.data = [bytes([number]) * 32 for number in range(70)]
        self.roots = [proof_vectors.root_of(self.data[:size]) for size in range(71)]

    def inclusion_holds(self, *arguments):
        try:
            merkle.check_inclusion(*arguments)
            return True
        except merkle.ProofError:
            return False

    def consistency_holds(self, *arguments):
        try:
            merkle.check_consistency(*arguments)
            return True
        except merkle.ProofError:
            return False

    def test_appending_gives_the_roots_of_the_definition(self):
        tree = merkle.Tree()
        for size, root in enumerate(self.roots):
            self.assertEqual((tree.size, tree.root()), (size, root))
            if size < 70:
                tree.append(self.data[size])

    def test_inclusion_proofs_up_to_size_33_are_valid_and_altered_ones_are_rejected(self):
        for size in range(1, 34):
            for index in range(size):
                hashes, leaf, root = proof_vectors.inclusion(index, self.data[:size]), merkle.leaf_hash(self.data[index]), self.roots[size]
                self.assertTrue(self.inclusion_holds(index, size, leaf, hashes, root))
                self.assertFalse(self.inclusion_holds(index, size, merkle.leaf_hash(self.data[index + 1]), hashes, root))
                self.assertFalse(self.inclusion_holds(index, size, leaf, hashes, self.roots[size + 1]))
                self.assertFalse(self.inclusion_holds(index ^ 1, size, leaf, hashes, root) and size > 1)
                self.assertFalse(self.inclusion_holds(index, size, leaf, hashes + [root], root))
                self.assertFalse(self.inclusion_holds(index, size, leaf, hashes[:-1], root) and hashes)
                self.assertFalse(self.inclusion_holds(index, size, leaf, hashes[::-1], root) and len(hashes) > 1)
        for index, size in ((0, 0), (1, 1), (-1, 1), (2**60, 1)):
            self.assertFalse(self.inclusion_holds(index, size, leaf, [], merkle.EMPTY_ROOT))

    def test_consistency_proofs_up_to_size_33_are_valid_and_altered_ones_are_rejected(self):
        other = bytes(32)
        for second in range(34):
            for first in range(second + 1):
                hashes = proof_vectors.consistency(first, self.data[:second])
                old, new = self.roots[first], self.roots[second]
                self.assertTrue(self.consistency_holds(first, second, hashes, old, new), (first, second))
                self.assertFalse(self.consistency_holds(first, second, hashes, other, new))
                # The empty tree is a prefix of every tree, so its proof is valid with any second root.
                self.assertFalse(self.consistency_holds(first, second, hashes, old, other) and first > 0)
                self.assertFalse(self.consistency_holds(first, second, hashes + [other], old, new))
                self.assertFalse(self.consistency_holds(first, second, hashes[:-1], old, new) and hashes)
                self.assertFalse(self.consistency_holds(first + 1, second, hashes, old, new))
                for place in range(len(hashes)):
                    self.assertFalse(self.consistency_holds(first, second, hashes[:place] + [other] + hashes[place + 1 :], old, new))

    def test_a_proof_that_ends_below_the_root_is_rejected(self):
        # Index 2 of three leaves, presented as index 3 of four. The hash leads to the given root, but four leaves need two hashes.
        hashes, leaf = proof_vectors.inclusion(2, self.data[:3]), merkle.leaf_hash(self.data[2])
        self.assertTrue(self.inclusion_holds(2, 3, leaf, hashes, self.roots[3]))
        self.assertFalse(self.inclusion_holds(3, 4, leaf, hashes, self.roots[3]))

    def test_sizes_that_shrink_or_are_negative_are_rejected(self):
        self.assertFalse(self.consistency_holds(5, 4, [], self.roots[5], self.roots[4]))
        self.assertFalse(self.consistency_holds(-1, 4, [], merkle.EMPTY_ROOT, self.roots[4]))

    def test_a_node_is_not_accepted_as_a_leaf(self):
        # Leaves and nodes are hashed with different prefixes. Otherwise, a leaf that consists of two leaf hashes would have the root of
        # these two leaves.
        joined = merkle.leaf_hash(self.data[0]) + merkle.leaf_hash(self.data[1])
        self.assertNotEqual(tree_of([joined]).root(), self.roots[2])

    def test_random_hashes_prove_nothing(self):
        chance = random.Random(6962)
        for _ in range(2000):
            hashes = [chance.getrandbits(256).to_bytes(32, 'big') for _ in range(chance.randrange(9))]
            first, second = chance.randrange(40), chance.randrange(1, 40)
            self.assertFalse(self.inclusion_holds(first, second, bytes(32), hashes, self.roots[second]))
            if first not in (0, second):
                self.assertFalse(self.consistency_holds(first, second, hashes, self.roots[first], self.roots[second]))


if __name__ == '__main__':
    unittest.main()
