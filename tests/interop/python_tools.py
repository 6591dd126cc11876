"""What others wrote in Python, of pinned versions, in environments of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.processes import environ_of

INSTALL_LIMIT_S, RUN_LIMIT_S = 540, 120
_NO_INDEX = ("connection broken by", "No matching distribution")


class PythonTools:
    """Packages in an environment in a folder.  Skips the test when they cannot be fetched.

    requirements: each with its version.
    """

    def __init__(self, folder: Path, *requirements: str) -> None:
        self.bin = folder / "environment/bin"
        self._folder = folder
        self._run([sys.executable, "-m", "venv", str(self.bin.parent)], INSTALL_LIMIT_S)
        command = [self.python, "-m", "pip", "install", "--quiet", *requirements]
        ran = self._run([*command, "--disable-pip-version-check"], INSTALL_LIMIT_S)
        output = ran.stdout + ran.stderr
        if ran.returncode and any(text in output for text in _NO_INDEX):
            pytest.skip(f"{', '.join(requirements)} cannot be fetched: not asked")
        assert ran.returncode == 0, output[-3000:]

    @property
    def python(self) -> str:
        return str(self.bin / "python")

    def run(
        self, *command: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder; its first word is a program of the environment."""
        program, *arguments = command
        return self._run([str(self.bin / program), *arguments], RUN_LIMIT_S, environ)

    def _run(
        self, command: list[str], limit_s: int, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self._folder,
            env={**environ_of({}), **(environ or {})},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
