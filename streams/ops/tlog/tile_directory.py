"""The folder of the writer: tiles, bundles and the checkpoint as files, at the paths of the log.

Any web server can serve it.  Names that begin with a dot are the writer's own.  A file is written
under another name, and renamed once it is on the disk, so none is ever half there.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from streams.engine.durable_files import put_in_place
from streams.ops.tlog.tile_builder import TileBuilder
from streams.ops.tlog.tiles import WIDTH, Tile

CHECKPOINT = "checkpoint"
SIGNED = ".state/signed"
POSITION = ".state/position"


class TileDirectory(TileBuilder):
    """The files of one log."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def read_tile(self, tile: Tile) -> bytes:
        """Return the bytes of a tile.  Raises ValueError if it is not there."""
        data = self.read(tile.path)
        if data is None:
            raise ValueError(f"{tile.path} is not there")
        return data

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, None if it is not there."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file, and have it on the disk; one with the same bytes is left as it is."""
        if self.read(name) == data:
            return
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.new")
        partial.write_bytes(data)
        put_in_place(partial, path)

    def write_tile(self, tile: Tile, data: bytes) -> None:
        self.write(tile.path, data)
        if tile.width == WIDTH:
            shutil.rmtree(self._folder / f"{tile.path}.p", ignore_errors=True)
