"""Tiles: their paths, nodes read back from them, and bundles of entries."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.ops.tlog.merkle import (
    Tree,
    leaf_hash,
    prove_consistency,
    prove_inclusion,
    root_by_inclusion,
    tree_root,
)
from streams.ops.tlog.tiles import (
    MAX_INDEX,
    BundleMalformed,
    Tile,
    TileNodes,
    decode_bundle,
    encode_bundle,
    hash_tile,
    parse_path,
    width_of,
)
from tests.examples import example_count, run_size

LEAF_COUNT = run_size(70_000, 1_100)
LEAVES = [leaf_hash(str(number).encode()) for number in range(LEAF_COUNT)]
WHOLE = Tree(LEAVES)
BOUNDARIES = [
    size
    for base in (0, 1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 65_792, 70_000)
    for size in (base, base + 1)
    if size <= LEAF_COUNT
]


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 0), "tile/0/000"),
        (Tile(0, 0, 1), "tile/0/000.p/1"),
        (Tile(1, 1234067, 255), "tile/1/x001/x234/067.p/255"),
        (Tile(None, 1000), "tile/entries/x001/000"),
        (Tile(63, MAX_INDEX), "tile/63/x009/x223/x372/x036/x854/x775/807"),
    ],
)
def test_a_tile_has_one_path(tile: Tile, path: str) -> None:
    assert tile.path == path
    assert parse_path(path) == tile


@pytest.mark.parametrize(
    "path",
    [
        "tile/0/0",
        "tile/0/x000/001",
        "tile/00/000",
        "tile/64/000",
        "tile/-1/000",
        "tile/0/000.p/0",
        "tile/0/000.p/01",
        "tile/0/000.p/256",
        "tile/0/000.p/999",
        "tile/0/000.p/",
        "tile/0/001/000",
        "tile/0/x001",
        "tile/entry/000",
        "tile/8/0/000",
        "/tile/0/000",
        "tile/0/000\n",
        "tile/0/\u0661\u0661\u0661",
        "tile/0/x009/x223/x372/x036/x854/x775/808",
        "tile/0/../000",
    ],
)
def test_any_other_path_names_no_tile(path: str) -> None:
    assert parse_path(path) is None


@given(st.integers(0, LEAF_COUNT) | st.sampled_from(BOUNDARIES))
@settings(max_examples=example_count(60), deadline=None)
def test_the_tiles_of_each_size_are_the_whole_tree(size: int) -> None:
    reads: list[Tile] = []

    def read(tile: Tile) -> bytes:
        reads.append(tile)
        assert tile.width == width_of(tile.level, tile.index, size) > 0
        return hash_tile(WHOLE, tile)

    nodes = TileNodes(size, read)
    assert tree_root(size, nodes.node) == WHOLE.root(size)
    for index in {0, size // 2, size - 1} if size else ():
        path = prove_inclusion(index, size, nodes.node)
        assert root_by_inclusion(LEAVES[index], index, size, path) == WHOLE.root(size)
    old = size // 3
    assert prove_consistency(old, size, nodes.node) == prove_consistency(old, size, WHOLE.node)
    assert len(reads) == len(set(reads))


def test_a_node_outside_the_tree_and_a_short_tile_are_refused() -> None:
    with pytest.raises(ValueError, match="has no node"):
        TileNodes(5, lambda tile: hash_tile(WHOLE, tile)).node(0, 5)
    with pytest.raises(ValueError, match="has no node"):
        TileNodes(5, lambda tile: hash_tile(WHOLE, tile)).node(1, 2)
    with pytest.raises(ValueError, match="has 31 bytes"):
        TileNodes(5, lambda tile: hash_tile(WHOLE, tile)[:31]).node(0, 0)


@given(st.lists(st.binary(max_size=300), max_size=20))
@settings(max_examples=example_count(100), deadline=None)
def test_a_bundle_is_read_as_it_was_written(entries: list[bytes]) -> None:
    bundle = encode_bundle(entries)
    assert decode_bundle(bundle) == entries
    lengths = {0}
    for entry in entries:
        lengths.add(max(lengths) + 2 + len(entry))
    for cut in set(range(len(bundle))) - lengths:
        with pytest.raises(BundleMalformed):
            decode_bundle(bundle[:cut])


def test_an_entry_that_is_too_long_fits_no_bundle() -> None:
    assert len(encode_bundle([b"x" * 0xFFFF])) == 2 + 0xFFFF
    with pytest.raises(ValueError, match="at most 65535"):
        encode_bundle([b"x" * 0x10000])
