"""What the tutorial prints is what a real system prints, from its first command to its last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.readme import ROOT, Example, commands, told
from tests.integration.system import Live

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "tutorial.md"
SET_UP = ("make setup", ".venv/bin/headrace up")
"""What the fixture does."""
EXAMPLES = commands(PAGE, SET_UP)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.command[:60])
def test_a_command_prints_what_the_tutorial_says(
    fresh_system: Live, environ: dict[str, str], example: Example
) -> None:
    printed, wanted = told(example, fresh_system, environ)
    assert wanted or "> " in example.command, "a command is followed by what it prints"
    assert printed == wanted


def test_every_command_is_run() -> None:
    text = Path(PAGE).read_text()
    assert text.count("\n$ ") == len(EXAMPLES) + len(SET_UP)
