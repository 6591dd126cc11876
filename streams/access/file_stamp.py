"""Metadata of a file that changes whenever its content does."""

from __future__ import annotations

from pathlib import Path

FileStamp = tuple[int, ...] | None
"""None if there is no file."""


def stamp_file(path: Path) -> FileStamp:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino
