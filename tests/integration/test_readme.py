"""What the README prints is what a real system prints.

Its commands are run from top to bottom on one fresh system, as a reader would.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.readme import GATEWAY, Example, blocks, examples, output_of, plain, run
from tests.integration.system import Live, live
from tests.processes import ROOT, environ_of, named

NOT_HERE = ("make ", ".venv/bin/headrace up", "python -m streams.agents")
"""Commands that set up what the fixture sets up, or that have tests of their own."""
EXAMPLES = [
    example
    for block in blocks("console")
    for example in examples(block)
    if not example.command.startswith(NOT_HERE)
]
PROGRAMS = blocks("python")


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder: Path = tmp_path_factory.mktemp("readme")
    with live(broker, folder) as system:
        yield system


@pytest.fixture(scope="module")
def environ(system: Live, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the commands see: the settings of the system, and a curl."""
    folder: Path = tmp_path_factory.mktemp("bin")
    if shutil.which("curl") is None:
        curl = folder / "curl"
        curl.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.integration.curl "$@"\n')
        curl.chmod(0o755)
    settings = {**system.environ, "STATE_DIR": str(folder / "state")}
    return {**environ_of(named(settings)), "PATH": f"{folder}:{os.environ['PATH']}"}


def here(command: str, system: Live) -> str:
    """A command for this system, which has another address and a prefix."""
    command = command.replace(GATEWAY, system.url)
    command = command.replace("after=", f"after={system.prefix}")
    return command.replace(".venv/bin/headrace", f"{sys.executable} -m streams.cli")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.command[:60])
def test_a_command_prints_what_the_readme_says(
    system: Live, environ: dict[str, str], example: Example
) -> None:
    shown = example.output[:-1] if example.cut else example.output
    command, count = here(example.command, system), len(shown) if example.cut else None
    deadline = time.monotonic() + 30
    while True:
        printed = plain(run(command, count, environ), system.prefix)
        if printed == plain(shown, "") or not example.reads or time.monotonic() > deadline:
            break
    assert printed == plain(shown, "") or not example.output


@pytest.mark.parametrize("client", ["Client()", "Client(gateway)"])
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_prints_what_the_readme_says(
    system: Live, environ: dict[str, str], number: int, client: str
) -> None:
    text = PROGRAMS[number].text
    assert "Client()" in text
    text = text.replace("Client()", client.replace("gateway", repr(system.url)))
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
    assert plain(ran.stdout.splitlines(), system.prefix) == plain(output_of(PROGRAMS[number]), "")


def test_the_readme_shows_every_way_in() -> None:
    commands = " ".join(example.command for example in EXAMPLES)
    for part in (
        "headrace send",
        "headrace query",
        "curl",
        "/v1/apc/packets",
        "/v1/rtes/stream",
        "sap-task",
        "127.0.0.1:8640/asap",
        "127.0.0.1:8640/summit",
        "summit-verify",
    ):
        assert part in commands
    assert any("hr.tail(" in program.text for program in PROGRAMS)
