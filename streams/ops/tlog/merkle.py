"""The Merkle tree of RFC 6962, section 2.1: hashes, roots, and proofs made and checked.

A node is named by its level and its index: level 0 holds the leaves, and node `index` of a level
covers the leaves `index << level` to `(index + 1) << level`.  Only complete nodes have names; what
lies on the right edge of a tree whose size is no power of two is computed from them.

All hashes are 32 bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256().digest()
"""The root of the tree without leaves."""

NodeReader = Callable[[int, int], bytes]
"""Returns the hash of the complete node at a level and an index."""


class ProofInvalid(ValueError):
    """An error for a proof that does not lead to the root."""


def leaf_hash(entry: bytes) -> bytes:
    return hashlib.sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


@dataclass(slots=True)
class RightEdge:
    """The right edge of a growing tree: the roots of its complete subtrees, largest first.

    size: the number of leaves.  There is one root for each bit of the size.
    """

    size: int = 0
    roots: list[bytes] = field(default_factory=list)

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash."""
        number, node = self.size, leaf
        while number & 1:
            node = node_hash(self.roots.pop(), node)
            number >>= 1
        self.roots.append(node)
        self.size += 1

    def extend(self, entries: Iterable[bytes]) -> None:
        """Add the leaves of entries."""
        for entry in entries:
            self.append(leaf_hash(entry))

    def root(self) -> bytes:
        """Return the root of the tree."""
        return _join(self.roots)


class Tree:
    """A tree in memory, with all of its complete nodes."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._levels: list[list[bytes]] = [[]]
        for leaf in leaves:
            self.append(leaf)

    @property
    def size(self) -> int:
        return len(self._levels[0])

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash."""
        node = leaf
        for level in range(len(self._levels)):
            nodes = self._levels[level]
            nodes.append(node)
            if len(nodes) & 1:
                return
            node = node_hash(nodes[-2], node)
        self._levels.append([node])

    def node(self, level: int, index: int) -> bytes:
        return self._levels[level][index]

    def hashes(self, level: int, first: int, count: int) -> bytes:
        """Return up to `count` hashes of a level, one after the other."""
        nodes = self._levels[level] if level < len(self._levels) else []
        return b"".join(nodes[first : first + count])

    def root(self, size: int | None = None) -> bytes:
        """Return the root of the first `size` leaves, by default of all."""
        return tree_root(self.size if size is None else size, self.node)


def subtree_root(nodes: Sequence[bytes]) -> bytes:
    """Return the root over the nodes of one level whose number is a power of two."""
    level = list(nodes)
    while len(level) > 1:
        level = [node_hash(*level[at : at + 2]) for at in range(0, len(level), 2)]
    return level[0]


def tree_root(size: int, read: NodeReader) -> bytes:
    """Return the root of a tree of that size."""
    return _join(complete_roots(size, read))


def complete_roots(size: int, read: NodeReader) -> list[bytes]:
    """Return the roots of the complete subtrees of a tree of that size, largest first."""
    return _subtree_roots(0, size, read)


def prove_inclusion(index: int, size: int, read: NodeReader) -> list[bytes]:
    """Return the proof that leaf `index` is in the tree of that size, the leaf's sibling first."""
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has none at {index}")
    low, high = 0, size
    path: list[bytes] = []
    while high - low > 1:
        middle = low + _largest_power_below(high - low)
        if index < middle:
            path.append(_range_root(middle, high, read))
            high = middle
        else:
            path.append(_range_root(low, middle, read))
            low = middle
    return path[::-1]


def prove_consistency(old: int, new: int, read: NodeReader) -> list[bytes]:
    """Return the proof that the tree of size `new` begins with that of size `old`.

    It is empty for the empty tree and for equal sizes.
    """
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {new} leaves has no earlier one of {old}")
    if old == 0:
        return []
    low, high = 0, new
    path: list[bytes] = []
    while old < high:
        middle = low + _largest_power_below(high - low)
        if old <= middle:
            path.append(_range_root(middle, high, read))
            high = middle
        else:
            path.append(_range_root(low, middle, read))
            low = middle
    if low:
        path.append(_range_root(low, high, read))
    return path[::-1]


def root_by_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Return the root that an inclusion proof leads to from a leaf hash.

    Raises ProofInvalid if the proof has not the hashes that this index and size need.
    """
    if not 0 <= index < size:
        raise ProofInvalid(f"index {index} is not below the size {size}")
    number, last, node = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise ProofInvalid("the proof has too many hashes")
        if number & 1 or number == last:
            node = node_hash(sibling, node)
            number, last = _rise_past_edge(number, last)
        else:
            node = node_hash(node, sibling)
        number, last = number >> 1, last >> 1
    if last:
        raise ProofInvalid("the proof has too few hashes")
    return node


def check_consistency(
    old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]
) -> None:
    """Check that the tree of size `new` begins with that of size `old`.  Raises ProofInvalid."""
    if not 0 <= old <= new:
        raise ProofInvalid(f"the size {new} is below {old}")
    if old in (0, new):
        expected_root = EMPTY_ROOT if old == 0 else new_root
        if path or old_root != expected_root:
            raise ProofInvalid("the roots differ, or a proof is there where none is needed")
        return
    hashes = list(path) if old & (old - 1) else [old_root, *path]
    if not hashes or _roots_by_consistency(old, new, hashes) != (old_root, new_root):
        raise ProofInvalid("the proof leads to other roots")


def _roots_by_consistency(old: int, new: int, hashes: Sequence[bytes]) -> tuple[bytes, bytes]:
    number, last = old - 1, new - 1
    while number & 1:
        number, last = number >> 1, last >> 1
    old_node = new_node = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            raise ProofInvalid("the proof has too many hashes")
        if number & 1 or number == last:
            old_node, new_node = node_hash(sibling, old_node), node_hash(sibling, new_node)
            number, last = _rise_past_edge(number, last)
        else:
            new_node = node_hash(new_node, sibling)
        number, last = number >> 1, last >> 1
    if last:
        raise ProofInvalid("the proof has too few hashes")
    return old_node, new_node


def _rise_past_edge(number: int, last: int) -> tuple[int, int]:
    """Skip the levels at which a node on the right edge has no sibling."""
    while number and not number & 1:
        number, last = number >> 1, last >> 1
    return number, last


def _largest_power_below(number: int) -> int:
    return 1 << ((number - 1).bit_length() - 1)


def _subtree_roots(low: int, high: int, read: NodeReader) -> list[bytes]:
    """Return the roots of the complete subtrees of a range of leaves, largest first.

    low: a multiple of each of their sizes, as it is in every range of a proof.
    """
    roots: list[bytes] = []
    while low < high:
        level = (high - low).bit_length() - 1
        roots.append(read(level, low >> level))
        low += 1 << level
    return roots


def _range_root(low: int, high: int, read: NodeReader) -> bytes:
    return _join(_subtree_roots(low, high, read))


def _join(roots: Sequence[bytes]) -> bytes:
    if not roots:
        return EMPTY_ROOT
    node = roots[-1]
    for left in reversed(roots[:-1]):
        node = node_hash(left, node)
    return node
