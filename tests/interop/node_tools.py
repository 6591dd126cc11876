"""What others run on Node.js, from npm, by a lock file that names versions and hashes only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.interop.maven import HERE

_INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
INSTALL_LIMIT_S, RUN_LIMIT_S = 280, 120


class NodeTools:
    """The programs of a folder, installed in another.  Skips the test when npm is not there."""

    def __init__(self, folder: Path, programs: str = "node") -> None:
        npm, node = shutil.which("npm"), shutil.which("node")
        if npm is None or node is None:
            pytest.skip(f"Node.js and npm are not installed: those of {programs}/ were not asked")
        self._node, self._folder = node, folder / programs
        shutil.copytree(
            HERE / programs, self._folder, ignore=shutil.ignore_patterns("node_modules")
        )
        self._run([npm, *_INSTALL], INSTALL_LIMIT_S)

    @property
    def modules(self) -> Path:
        """Return the folder of the installed packages."""
        return self._folder / "node_modules"

    def ask(self, program: str, text: str) -> Any:
        """What a program says, as JSON, of a file with this text."""
        file = self._folder / "asked.json"
        file.write_text(text, encoding="utf-8")
        return json.loads(self._run([self._node, program, str(file)], RUN_LIMIT_S))

    def ask_json(self, program: str, value: Any) -> Any:
        """What a program says, as JSON, of a value."""
        return self.ask(program, json.dumps(value))

    def run_program(self, command: list[str]) -> str:
        """What a program of the folder prints, whether it succeeds or not."""
        ran = self.run(command)
        return ran.stdout + ran.stderr

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a program of the folder, which keeps what it stores there."""
        return subprocess.run(
            command,
            cwd=self._folder,
            env={**os.environ, "HOME": str(self._folder)},
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            check=False,
        )

    def _run(self, command: list[str], limit_s: int) -> str:
        ran = subprocess.run(
            command, cwd=self._folder, capture_output=True, text=True, timeout=limit_s, check=False
        )
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
        return ran.stdout
