"""The folder of the writer holds exactly the tiles and bundles of its tree."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.ops.tlog.merkle import Tree, leaf_hash
from streams.ops.tlog.tile_directory import TileDirectory
from streams.ops.tlog.tiles import WIDTH, Tile, encode_bundle, hash_tile, width_of
from tests.examples import example_count, run_size

SIZE = run_size(70_000, 1_100)
LINES = [b"entry %d\n" % number for number in range(SIZE)]
TREE = Tree(map(leaf_hash, LINES))


def expected_files(size: int) -> dict[str, bytes]:
    files = {}
    for level in range(3):
        for index in range((size >> 8 * level) // WIDTH + 1):
            if width := width_of(level, index, size):
                tile = Tile(level, index, width)
                files[tile.path] = hash_tile(TREE, tile)
    for index in range(size // WIDTH + 1):
        if width := width_of(None, index, size):
            lines = LINES[index * WIDTH :][:width]
            files[Tile(None, index, width).path] = encode_bundle(lines)
    return files


def files_in(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@settings(max_examples=example_count(20), deadline=None)
@given(st.lists(st.integers(0, 400), max_size=4).filter(lambda steps: sum(steps) <= 1_100))
def test_any_rounds_lead_to_the_same_full_tiles(steps: list[int]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        directory = TileDirectory(folder)
        size = 0
        for step in steps:
            directory.append(LINES[size : size + step])
            size += step
            directory.flush()
            assert files_in(folder).items() >= expected_files(size).items()
        full = {path for path in files_in(folder) if ".p/" not in path}
        assert full == {path for path in expected_files(size) if ".p/" not in path}
        assert not [path for path in full if (folder / f"{path}.p").exists()]


@pytest.mark.parametrize("size", [0, 1, 256, 257, SIZE])
def test_one_round_leaves_the_files_of_its_size_and_no_others(tmp_path: Path, size: int) -> None:
    directory = TileDirectory(tmp_path)
    directory.append(LINES[:size])
    directory.flush()
    assert files_in(tmp_path) == expected_files(size)


def test_a_file_with_the_same_bytes_is_left(tmp_path: Path) -> None:
    directory = TileDirectory(tmp_path)
    directory.write("a/b", b"1")
    before = (tmp_path / "a/b").stat().st_ino
    directory.write("a/b", b"1")
    assert (tmp_path / "a/b").stat().st_ino == before
    directory.write("a/b", b"2")
    assert (directory.read("a/b"), directory.read("a/c")) == (b"2", None)
