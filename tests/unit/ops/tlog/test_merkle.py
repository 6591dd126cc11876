"""The tree of RFC 6962 against its definition, and proofs that were tampered with."""

from __future__ import annotations

import hashlib
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.ops.tlog.merkle import (
    EMPTY_ROOT,
    ProofInvalid,
    RightEdge,
    Tree,
    check_consistency,
    leaf_hash,
    prove_consistency,
    prove_inclusion,
    root_by_inclusion,
)
from tests.examples import example_count
from tests.unit.ops.tlog.example_log import LINES, TREE

LEAVES = [leaf_hash(str(number).encode()) for number in range(600)]
WHOLE = Tree(LEAVES)
SIZES = st.integers(0, len(LEAVES))


def root_by_definition(leaves: list[bytes]) -> bytes:
    """Compute the root as section 2.1 defines it."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    middle = 1
    while middle * 2 < len(leaves):
        middle *= 2
    halves = root_by_definition(leaves[:middle]), root_by_definition(leaves[middle:])
    return hashlib.sha256(b"\1" + halves[0] + halves[1]).digest()


def test_the_vectors_of_a_root_and_a_proof() -> None:
    assert b64encode(TREE.root()) == b"cvt/zlFTFGFuB1gz2x0D3NKRLtFkuNBj5A8kojjVFz4="
    first, second = prove_inclusion(1, 3, TREE.node)
    assert first == leaf_hash(LINES[0])
    assert b64encode(second) == b"SPp20vLWvPnQnkZ4tQsVs9pcX+TR6z/KTSyn2nVOaGs="


@given(SIZES)
@settings(max_examples=example_count(200), deadline=None)
def test_all_ways_to_the_root_are_its_definition(size: int) -> None:
    expected = root_by_definition(LEAVES[:size])
    edge = RightEdge()
    for leaf in LEAVES[:size]:
        edge.append(leaf)
    assert WHOLE.root(size) == edge.root() == expected
    assert len(edge.roots) == size.bit_count()


@given(st.data(), st.integers(1, len(LEAVES)))
@settings(max_examples=example_count(300), deadline=None)
def test_each_leaf_is_proved_and_no_other(data: st.DataObject, size: int) -> None:
    index = data.draw(st.integers(0, size - 1))
    path = prove_inclusion(index, size, WHOLE.node)
    root = WHOLE.root(size)
    assert root_by_inclusion(LEAVES[index], index, size, path) == root
    assert root_by_inclusion(leaf_hash(b"other"), index, size, path) != root
    other = data.draw(st.integers(0, size - 1).filter(lambda n: n != index)) if size > 1 else None
    if other is not None:
        assert not leads_to(root, LEAVES[index], other, size, path)
    assert not leads_to(root, LEAVES[index], index, size, [*path, root])
    if path:
        assert not leads_to(root, LEAVES[index], index, size, path[:-1])
        place = data.draw(st.integers(0, len(path) - 1))
        changed = [*path[:place], hashlib.sha256(path[place]).digest(), *path[place + 1 :]]
        assert not leads_to(root, LEAVES[index], index, size, changed)


def leads_to(root: bytes, leaf: bytes, index: int, size: int, path: list[bytes]) -> bool:
    try:
        return root_by_inclusion(leaf, index, size, path) == root
    except ProofInvalid:
        return False


@given(SIZES, SIZES, st.data())
@settings(max_examples=example_count(300), deadline=None)
def test_each_tree_begins_with_the_smaller_ones_and_with_no_other(
    one: int, another: int, data: st.DataObject
) -> None:
    old, new = sorted((one, another))
    path = prove_consistency(old, new, WHOLE.node)
    roots = WHOLE.root(old), WHOLE.root(new)
    check_consistency(old, roots[0], new, roots[1], path)
    forged = hashlib.sha256(b"fork").digest()
    with pytest.raises(ProofInvalid):
        check_consistency(old, forged, new, roots[1], path)
    if old:
        with pytest.raises(ProofInvalid):
            check_consistency(old, roots[0], new, forged, path)
    with pytest.raises(ProofInvalid):
        check_consistency(old, roots[0], new, roots[1], [*path, forged])
    if path:
        place = data.draw(st.integers(0, len(path) - 1))
        with pytest.raises(ProofInvalid):
            check_consistency(
                old, roots[0], new, roots[1], [*path[:place], forged, *path[place + 1 :]]
            )
        with pytest.raises(ProofInvalid):
            check_consistency(old, roots[0], new, roots[1], path[:-1])


@pytest.mark.parametrize(("index", "size"), [(0, 0), (3, 3), (-1, 3)])
def test_a_leaf_beyond_the_tree_has_no_proof(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="has none at"):
        prove_inclusion(index, size, WHOLE.node)
    with pytest.raises(ProofInvalid):
        root_by_inclusion(LEAVES[0], index, size, [])


def test_a_smaller_tree_is_no_later_one() -> None:
    with pytest.raises(ValueError, match="no earlier one"):
        prove_consistency(4, 3, WHOLE.node)
    with pytest.raises(ProofInvalid):
        check_consistency(4, WHOLE.root(4), 3, WHOLE.root(3), [])


def test_the_empty_tree_has_the_hash_of_nothing() -> None:
    assert Tree().root() == RightEdge().root() == EMPTY_ROOT == hashlib.sha256(b"").digest()
