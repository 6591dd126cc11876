"""Folders for the tables of a log in memory: nothing of them has to outlive the process."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 1 << 30


def scratch_parent() -> str | None:
    """Return the file system in memory, where opening RocksDB waits for no disk.

    None, for the folder of temporary files, where there is none, it has less than 1 GiB free, or
    temporary files have a place of their own (TMPDIR).
    """
    if tempfile.gettempdir() != "/tmp":
        return None
    try:
        free = shutil.disk_usage(_MEMORY).free
    except OSError:
        return None
    return str(_MEMORY) if free > _ROOM_BYTES and os.access(_MEMORY, os.W_OK) else None
