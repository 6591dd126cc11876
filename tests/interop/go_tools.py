"""What others wrote in Go, built from modules that `go/go.sum` names by version and hash."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from packaging.version import Version

from tests.interop.maven import HERE

_MODULE = HERE / "go"
BUILD_LIMIT_S, RUN_LIMIT_S = 280, 120


class GoTool:
    """One program of a module, built in a folder.  Skips the test when Go is not there.

    module: a folder with `go.mod` and `go.sum`.  limit_s: how long the build may take.
    """

    def __init__(
        self, package: str, folder: Path, module: Path = _MODULE, limit_s: int = BUILD_LIMIT_S
    ) -> None:
        self._program = folder / (package.rpartition("/")[2].strip(".") or "program")
        command = [_find_compiler(module), "build", "-o", str(self._program), package]
        ran = subprocess.run(
            command,
            cwd=module,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]

    @property
    def command(self) -> list[str]:
        return [str(self._program)]

    def run(
        self, *arguments: str, cwd: Path, prefix: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end.  prefix: a command that runs it."""
        return subprocess.run(
            [*prefix, str(self._program), *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it; its input is a pipe, which ends with this process."""
        pipe, command = subprocess.PIPE, [str(self._program), *arguments]
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)


def _find_compiler(module: Path) -> str:
    """Find a Go that is new enough for the module."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed: its tools were not asked")
    minimum = _find_version(r"^go (\S+)$", (module / "go.mod").read_text())
    command = [go, "env", "GOVERSION"]
    ran = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60, check=True)
    if _find_version(r"go(\d+(?:\.\d+)+)", ran.stdout) < minimum:
        pytest.skip(f"Go is older than {minimum}: its tools were not asked")
    return go


def _find_version(pattern: str, text: str) -> Version:
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, text
    return Version(match[1])
