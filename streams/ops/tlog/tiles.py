"""Tiles (tlog-tiles): the tree in files of up to 256 hashes, and bundles of up to 256 entries.

A tile of level L holds hashes of level 8 L of the tree.  A partial tile is the beginning of the
full one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from streams.ops.tlog.merkle import HASH_BYTES, Tree, subtree_root

HEIGHT = 8
WIDTH = 1 << HEIGHT
MAX_ENTRY_BYTES = 0xFFFF
MAX_INDEX = (1 << 63) - 1
ENTRIES = "entries"
"""The level of entry bundles, in paths."""
_PATH = re.compile(
    r"tile/(?P<level>entries|[0-9]|[1-5][0-9]|6[0-3])/(?P<index>(?:x[0-9]{3}/){0,6}[0-9]{3})"
    r"(?:\.p/(?P<width>[1-9][0-9]{0,2}))?"
)
_LENGTH_BYTES = 2
MAX_BUNDLE_BYTES = WIDTH * (_LENGTH_BYTES + MAX_ENTRY_BYTES)


class BundleMalformed(ValueError):
    """An error for bytes that are no entry bundle."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The name of a tile.

    level: None of an entry bundle.  width: the number of its hashes or entries, 1 to 256.
    """

    level: int | None
    index: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """Return its path below the URL of the log, as `tile/1/x001/x234/067.p/12`."""
        level = ENTRIES if self.level is None else str(self.level)
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"tile/{level}/{_split_index(self.index)}{partial}"


def parse_path(path: str) -> Tile | None:
    """Return the tile that a path names, None if it is not exactly the path of one."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    level = None if match["level"] == ENTRIES else int(match["level"])
    index = int(re.sub("[x/]", "", match["index"]))
    tile = Tile(level, index, int(match["width"] or WIDTH))
    in_range = index <= MAX_INDEX and tile.width <= WIDTH
    return tile if in_range and tile.path == path else None


def _split_index(index: int) -> str:
    digits = str(index)
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    return "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])


def width_of(level: int | None, index: int, size: int) -> int:
    """Return how many hashes or entries a tile has in a tree of that size; 0 if it has none."""
    count = size >> (HEIGHT * (level or 0))
    return max(0, min(WIDTH, count - index * WIDTH))


def hash_tile(tree: Tree, tile: Tile) -> bytes:
    """Return the bytes of a hash tile of a tree that has it."""
    return tree.hashes(HEIGHT * (tile.level or 0), tile.index * WIDTH, tile.width)


class TileNodes:
    """A reader of nodes of the tree of one size, from its tiles.

    read_tile: returns the bytes of a hash tile.  A tile is asked for at the width that it has in
    the tree of that size, each once.
    """

    def __init__(self, size: int, read_tile: Callable[[Tile], bytes]) -> None:
        self._size, self._read_tile = size, read_tile
        self._tiles: dict[Tile, bytes] = {}

    def node(self, level: int, index: int) -> bytes:
        """Return the hash of a complete node of the tree.

        Raises ValueError if the tree has no such node, or its tile has another length.
        """
        tile_level, height = divmod(level, HEIGHT)
        first = index << height
        width = width_of(tile_level, first // WIDTH, self._size)
        tile = Tile(tile_level, first // WIDTH, width)
        begin, count = first % WIDTH, 1 << height
        if begin + count > tile.width:
            raise ValueError(f"a tree of {self._size} leaves has no node {level}/{index}")
        hashes = self._hashes_of(tile)
        return subtree_root(
            [hashes[at * HASH_BYTES :][:HASH_BYTES] for at in range(begin, begin + count)]
        )

    def _hashes_of(self, tile: Tile) -> bytes:
        if tile not in self._tiles:
            hashes = self._read_tile(tile)
            if len(hashes) != tile.width * HASH_BYTES:
                raise ValueError(f"{tile.path} has {len(hashes)} bytes")
            self._tiles[tile] = hashes
        return self._tiles[tile]


def encode_bundle(entries: Iterable[bytes]) -> bytes:
    """Return entries, each after its length in two bytes.  Raises ValueError for one too long."""
    parts: list[bytes] = []
    for entry in entries:
        if len(entry) > MAX_ENTRY_BYTES:
            raise ValueError(f"an entry has {len(entry)} bytes, at most {MAX_ENTRY_BYTES} fit")
        parts += [len(entry).to_bytes(_LENGTH_BYTES, "big"), entry]
    return b"".join(parts)


def decode_bundle(bundle: bytes) -> list[bytes]:
    """Return the entries of a bundle.  Raises BundleMalformed."""
    entries: list[bytes] = []
    at = 0
    while at < len(bundle):
        begin = at + _LENGTH_BYTES
        at = begin + int.from_bytes(bundle[at:begin], "big")
        if begin > len(bundle) or at > len(bundle):
            raise BundleMalformed(f"the bundle ends within entry {len(entries)}")
        entries.append(bundle[begin:at])
    return entries
