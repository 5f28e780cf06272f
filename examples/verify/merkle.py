"""Merkle trees of RFC 6962 and their proofs (RFC 9162, section 2.1, defines the same trees and describes the algorithms).

Hashes are 32 raw bytes throughout.
"""

import hashlib

EMPTY_ROOT = hashlib.sha256(b'').digest()


class ProofError(Exception):
    """A proof that does not prove what it claims."""


def leaf_hash(data):
    return hashlib.sha256(b'\x00' + data).digest()


def node_hash(left, right):
    return hashlib.sha256(b'\x01' + left + right).digest()


class Tree:
    """An append-only tree. It stores only the roots of its full subtrees: one hash for each bit set in its size."""

    def __init__(self):
        self.size = 0
        self._full = []  # the largest and leftmost first

    def append(self, data):
        node, size = leaf_hash(data), self.size
        while size & 1:
            node = node_hash(self._full.pop(), node)
            size >>= 1
        self._full.append(node)
        self.size += 1

    def root(self):
        if self.size == 0:
            return EMPTY_ROOT
        node = self._full[-1]
        for left in reversed(self._full[:-1]):
            node = node_hash(left, node)
        return node


def check_inclusion(index, size, leaf, hashes, root):
    """Raises ProofError unless the leaf hash is at the index in the tree of that size and root (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        raise ProofError(f'index {index} is outside a tree of size {size}')
    place, last, node = index, size - 1, leaf
    for sibling in hashes:
        if last == 0:
            raise ProofError('the proof has more hashes than a tree of this size needs')
        if place & 1 or place == last:
            node = node_hash(sibling, node)
            while not place & 1 and place != 0:
                place, last = place >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        place, last = place >> 1, last >> 1
    if last != 0:
        raise ProofError('the proof has fewer hashes than a tree of this size needs')
    if node != root:
        raise ProofError('the leaf and the hashes of the proof do not give the root')


def check_consistency(first, second, hashes, first_root, second_root):
    """Raises ProofError unless the first tree is a prefix of the second (RFC 9162, 2.1.4.2).

    The RFC omits two cases, which need no hashes: the empty tree is a prefix of every tree, and every tree is a prefix of itself.
    """
    if not 0 <= first <= second:
        raise ProofError(f'a tree of size {first} cannot be a prefix of one of size {second}')
    if first == 0 and first_root != EMPTY_ROOT:
        raise ProofError('the root is not the root of the empty tree')
    if first == second and first_root != second_root:
        raise ProofError('two trees of the same size have different roots')
    if first in (0, second):
        if hashes:
            raise ProofError('the proof has hashes where none are needed')
        return
    path = list(hashes)
    if first & (first - 1) == 0:
        path.insert(0, first_root)  # the first tree is a full subtree of the second, so its root is known
    if not path:
        raise ProofError('the proof has no hashes')
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = path[0]
    for node in path[1:]:
        if last == 0:
            raise ProofError('the proof has more hashes than trees of these sizes need')
        if place & 1 or place == last:
            old, new = node_hash(node, old), node_hash(node, new)
            while not place & 1 and place != 0:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, node)
        place, last = place >> 1, last >> 1
    if last != 0:
        raise ProofError('the proof has fewer hashes than trees of these sizes need')
    if old != first_root:
        raise ProofError('the hashes of the proof do not give the root of the first tree')
    if new != second_root:
        raise ProofError('the hashes of the proof do not give the root of the second tree')
