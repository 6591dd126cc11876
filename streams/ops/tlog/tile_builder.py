"""The tiles and bundles of a growing tree, written as its entries come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from streams.ops.tlog.merkle import (
    HASH_BYTES,
    RightEdge,
    complete_roots,
    leaf_hash,
    subtree_root,
)
from streams.ops.tlog.tiles import HEIGHT, WIDTH, Tile, TileNodes, decode_bundle, encode_bundle


class TileBuilder(ABC):
    """The tiles of one log, derived from all of its entries in their order.

    Where they are stored is up to subclasses.
    """

    def __init__(self) -> None:
        self._entries: list[bytes] = []
        self._bundles = 0
        self._hashes: list[list[bytes]] = []
        self._tiles: list[int] = []

    @abstractmethod
    def read_tile(self, tile: Tile) -> bytes:
        """Return the bytes of a tile or bundle.  Raises ValueError if it is not there."""

    @abstractmethod
    def write_tile(self, tile: Tile, data: bytes) -> None:
        """Store a tile or bundle; a wider one replaces a partial one."""

    def resume(self, size: int) -> RightEdge:
        """Go on from the tiles of a tree of that size; return its right edge.

        Raises ValueError if a tile or bundle on the edge is not there, or they do not agree.
        """
        nodes = TileNodes(size, self.read_tile)
        edge = RightEdge(size, complete_roots(size, nodes.node))
        self._bundles, count = divmod(size, WIDTH)
        bundle = self.read_tile(Tile(None, self._bundles, count)) if count else b""
        self._entries = decode_bundle(bundle)
        self._hashes, self._tiles = [], []
        for level in range(-(-size.bit_length() // HEIGHT)):
            index, width = divmod(size >> HEIGHT * level, WIDTH)
            data = self.read_tile(Tile(level, index, width)) if width else b""
            self._tiles.append(index)
            self._hashes.append(
                [data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)]
            )
        if size and [leaf_hash(line) for line in self._entries] != self._hashes[0]:
            raise ValueError(f"bundle {self._bundles} has other entries than its tile")
        return edge

    def append(self, lines: Iterable[bytes]) -> None:
        """Add entries; write the tiles and bundles that they complete."""
        for line in lines:
            self._entries.append(line)
            self._add_hash(0, leaf_hash(line))
            if len(self._entries) == WIDTH:
                self._write_bundle()
                self._entries, self._bundles = [], self._bundles + 1

    def flush(self) -> None:
        """Write the partial tiles and the partial bundle of the present size."""
        if self._entries:
            self._write_bundle()
        for level, hashes in enumerate(self._hashes):
            if hashes:
                self.write_tile(Tile(level, self._tiles[level], len(hashes)), b"".join(hashes))

    def _add_hash(self, level: int, node: bytes) -> None:
        if level == len(self._hashes):
            self._hashes.append([])
            self._tiles.append(0)
        hashes = self._hashes[level]
        hashes.append(node)
        if len(hashes) == WIDTH:
            self.write_tile(Tile(level, self._tiles[level]), b"".join(hashes))
            self._hashes[level], self._tiles[level] = [], self._tiles[level] + 1
            self._add_hash(level + 1, subtree_root(hashes))

    def _write_bundle(self) -> None:
        tile = Tile(None, self._bundles, len(self._entries))
        self.write_tile(tile, encode_bundle(self._entries))
