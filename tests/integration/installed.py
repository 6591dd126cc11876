"""The wheel of this checkout and the pinned base requirements, in an empty environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.integration.system import Live
from tests.processes import ROOT, environ_of

INSTALL_LIMIT_S = 540
COMMAND_LIMIT_S = 120
_NO_INDEX = "connection broken by"
"""What pip says, before it gives up, of an index that does not answer."""


class Installed:
    """An environment in a folder.  Skips the test when the package index cannot be reached."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "environment/bin"
        venv.create(self.bin.parent, with_pip=True)
        self._pip("install", "--require-hashes", "-r", str(ROOT / "requirements.txt"))
        self._pip("install", "--no-deps", str(self._wheel()))
        self._pip("check")

    @property
    def python(self) -> str:
        return str(self.bin / "python")

    def run(
        self, command: Sequence[str], environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run it in the folder, where the packages of this checkout cannot be imported."""
        return _run(command, self.folder, COMMAND_LIMIT_S, environ_of(environ or {}))

    def headrace(
        self, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.run([str(self.bin / "headrace"), *arguments], environ)

    def system(self, bootstrap: str, **environ: str) -> Live:
        """Return a worker and a gateway that run in this environment."""

        class System(Live):
            before = ("env", f"--chdir={self.folder}")
            python = self.python

        return System(bootstrap, self.folder / "system", **environ)

    def _pip(self, *arguments: str) -> None:
        ran = _run([self.python, "-m", "pip", *arguments], self.folder, INSTALL_LIMIT_S)
        output = ran.stdout + ran.stderr
        if ran.returncode and _NO_INDEX in output:
            pytest.skip("the package index cannot be reached: the base was not installed")
        assert ran.returncode == 0, output[-3000:]

    def _wheel(self) -> Path:
        build = ("-m", "hatchling", "build", "--target", "wheel", "--directory")
        ran = _run([sys.executable, *build, str(self.folder)], ROOT, COMMAND_LIMIT_S)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        (wheel,) = self.folder.glob("*.whl")
        return wheel


def _run(
    command: Sequence[str], folder: Path, limit_s: int, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
