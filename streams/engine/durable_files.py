"""Files that are on the disk, whole, before anything is built on them."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Have a file or a folder on the disk; a new name is durable only once its folder is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(temporary: Path, path: Path) -> None:
    """Rename a whole file of the same folder over the former one, and have both on the disk.

    Readers see the former file or the new one, never a part.
    """
    sync(temporary)
    temporary.replace(path)
    sync(path.parent)
