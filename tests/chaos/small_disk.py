"""A file system of a worker's own, so small that a test can fill it."""

from __future__ import annotations

import errno
import itertools
import subprocess
from pathlib import Path

import pytest

MOUNT = 'mount -t tmpfs -o size="$0" headrace "$1" && shift && exec "$@"'
_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
_BLOCK = bytes(1 << 16)


def command(size: str, at: Path) -> tuple[str, ...]:
    """What goes before a command, so that it sees an empty file system of that size there.

    It keeps its process id.  Needs Linux that lets users have namespaces; skips the test without.
    """
    try:
        subprocess.run([*_NAMESPACE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as exc:
        pytest.skip(f"no file system of a test's own without namespaces: {exc}")
    at.mkdir(parents=True, exist_ok=True)
    return (*_NAMESPACE, "sh", "-c", MOUNT, size, str(at))


def inside(pid: int, path: Path) -> Path:
    """The file that a process sees under that path."""
    return Path(f"/proc/{pid}/root{path}")


class Ballast:
    """A file that leaves no room for another.  pid: of a process that sees the file system."""

    def __init__(self, pid: int, at: Path) -> None:
        self._path = inside(pid, at / "ballast")

    def fill(self) -> None:
        with self._path.open("wb", buffering=0) as file, pytest.raises(OSError) as refused:
            file.writelines(itertools.repeat(_BLOCK))
        assert refused.value.errno == errno.ENOSPC

    def remove(self) -> None:
        self._path.unlink()
