"""The workflows, as actionlint reads them: it knows expressions, contexts, runners and actions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.interop.go_tools import GoTool
from tests.processes import ROOT
from tests.workflows import WORKFLOWS

ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint"
MATRIX = "python: ${{ matrix.python }}"
"""A line of checks.yml; the faults below replace it."""


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory: pytest.TempPathFactory) -> GoTool:
    return GoTool(ACTIONLINT, tmp_path_factory.mktemp("actionlint"))


def test_actionlint_finds_nothing_in_the_workflows(actionlint: GoTool) -> None:
    assert WORKFLOWS
    ran = actionlint.run("-no-color", *map(str, WORKFLOWS), cwd=ROOT)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("python: ${{ matrix.snake }}", 'property "snake" is not defined'),
        ("version: ${{ matrix.python }}", 'input "version" is not defined in action "Prepare"'),
        ("python: ${{ needs.check.outputs.python }}", 'property "check" is not defined'),
    ],
)
def test_actionlint_is_one_that_says_what_is_wrong(
    line: str, message: str, actionlint: GoTool, tmp_path: Path
) -> None:
    """In a copy of the folder that makes a project of its own, so that its actions are known."""
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    (tmp_path / ".git").mkdir()
    workflow = tmp_path / ".github/workflows/checks.yml"
    text = workflow.read_text()
    assert MATRIX in text
    workflow.write_text(text.replace(MATRIX, line))
    ran = actionlint.run("-no-color", cwd=tmp_path)
    assert ran.returncode == 1
    assert message in ran.stdout
