"""Checks that a real system prints what the README and the tour print.

Their commands are run from top to bottom on one fresh system, as a reader would.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.integration.readme import (
    README,
    TOUR,
    Example,
    blocks,
    commands,
    output_of,
    plain,
    run_example,
)
from tests.integration.system import Live
from tests.processes import ROOT

NOT_HERE = ("make ", ".venv/bin/headrace up", "python -m streams.agents")
"""Commands that set up what the fixture sets up, or that have tests of their own."""
EXAMPLES = [*commands(README, NOT_HERE), *commands(TOUR, NOT_HERE)]
PROGRAMS = blocks("python")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.command[:60])
def test_a_command_prints_what_its_page_says(
    fresh_system: Live, environ: dict[str, str], example: Example
) -> None:
    printed, expected = run_example(example, fresh_system, environ)
    assert printed == expected or not example.output


@pytest.mark.parametrize("client", ["Client()", "Client(gateway)"])
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_prints_what_the_readme_says(
    fresh_system: Live, environ: dict[str, str], number: int, client: str
) -> None:
    text = PROGRAMS[number].text
    assert "Client()" in text
    text = text.replace("Client()", client.replace("gateway", repr(fresh_system.url)))
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert plain(ran.stdout.splitlines(), fresh_system.prefix) == plain(
        output_of(PROGRAMS[number]), ""
    )


def test_the_pages_show_every_way_in() -> None:
    commands = " ".join(example.command for example in EXAMPLES)
    for part in (
        "headrace send",
        "headrace query",
        "curl",
        "/v1/apc/packets",
        "/v1/rtes/stream",
        "sap show",
        "127.0.0.1:8640/asap",
        "127.0.0.1:8640/summit",
        "summit verify",
    ):
        assert part in commands
    assert any("hr.tail(" in program.text for program in PROGRAMS)
