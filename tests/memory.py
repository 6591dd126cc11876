"""Temporary files of tests lie in memory where there is room: each RocksDB that a test opens would
wait for the disk a dozen times.  With TMPDIR set they lie there, and what failed can be looked at.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")
_PREFIX = "headrace-tests-"
_ROOM_BYTES = 6 << 30


def use_memory() -> None:
    """Have this process and those it starts put temporary files in memory, until it ends."""
    if "TMPDIR" in os.environ or not _has_room():
        return
    _remove_abandoned()
    folder = _MEMORY / f"{_PREFIX}{os.getpid()}"
    folder.mkdir(mode=0o700)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None


def _has_room() -> bool:
    try:
        return os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES
    except OSError:
        return False


def _remove_abandoned() -> None:
    """Remove what runs that were killed have left."""
    for folder in _MEMORY.glob(f"{_PREFIX}*"):
        try:
            os.kill(int(folder.name.removeprefix(_PREFIX)), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except (PermissionError, ValueError):
            continue
