"""What others wrote in Go, built from modules that `go/go.sum` names by version and hash."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from tests.interop.maven import HERE

_MODULE = HERE / "go"
BUILD_LIMIT_S, RUN_LIMIT_S = 280, 120


class GoTool:
    """One program of a module of `go/`, built in a folder.  Skips the test when Go is not there."""

    def __init__(self, package: str, folder: Path) -> None:
        self._program = folder / package.rpartition("/")[2]
        command = [_find_compiler(), "build", "-o", str(self._program), package]
        ran = subprocess.run(
            command,
            cwd=_MODULE,
            capture_output=True,
            text=True,
            timeout=BUILD_LIMIT_S,
            check=False,
        )
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._program), *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            check=False,
        )


def _find_compiler() -> str:
    """Find a Go that is new enough for the modules."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed: its tools were not asked")
    minimum = _find_version(r"^go (\S+)$", (_MODULE / "go.mod").read_text())
    command = [go, "env", "GOVERSION"]
    ran = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60, check=True)
    if _find_version(r"go(\d+(?:\.\d+)+)", ran.stdout) < minimum:
        pytest.skip(f"Go is older than {minimum}: its tools were not asked")
    return go


def _find_version(pattern: str, text: str) -> Version:
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, text
    return Version(match[1])
