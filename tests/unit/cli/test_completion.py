"""Completion of commands, options, topics and kinds, by real shells where there are any."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.cli.commands import ALIASES, COMMANDS
from tests.processes import ROOT

ASK = 'eval "$("$0" completion bash)"; COMP_WORDS=("${@}"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
ASK += ' _headrace_completion "$0"; printf "%s\\n" "${COMPREPLY[@]}"'


@pytest.fixture(scope="module")
def headrace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, as its package installs it."""
    path: Path = tmp_path_factory.mktemp("bin") / "headrace"
    start = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom streams.cli import main\nmain()\n"
    path.write_text(f"#!{sys.executable}\n{start}")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tail", "rtes.e"], {"rtes.events"}),
        (["send", "apc."], {"apc.packets"}),
        (["validate", "summit.m"], {"summit.manifest"}),
        (["topics", "describe", "saop.rewind-"], {"saop.rewind-log"}),
        (["topics", "acls", "--s"], {"--service", "--script"}),
        (["play", "--set", "HEADRACE_SAP_RA"], {"HEADRACE_SAP_RATE="}),
        (["doc"], {"doctor"}),
    ],
)
def test_a_real_bash_completes(headrace: Path, words: list[str], expected: set[str]) -> None:
    command = ["bash", "--norc", "-c", ASK, str(headrace), "headrace", *words]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PATH": f"{headrace.parent}:{os.environ['PATH']}"},
    )
    assert set(ran.stdout.split()) == expected, ran.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_own(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert f"_HEADRACE_COMPLETE={shell}_complete" in result.output


def test_other_shells_are_wrong_usage() -> None:
    assert CliRunner().invoke(main, ["completion", "tcsh"]).exit_code == 2


def test_all_commands_are_offered() -> None:
    env = {"_HEADRACE_COMPLETE": "bash_complete", "COMP_WORDS": "headrace ", "COMP_CWORD": "1"}
    result = CliRunner().invoke(main, prog_name="headrace", env=env)
    offered = [line.removeprefix("plain,") for line in result.output.split()]
    assert offered == [*COMMANDS, *ALIASES]
