"""What the tutorial prints is what a real system prints, from its first command to its last."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.integration.readme import ROOT, Example, commands, here, run, run_example
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
    printed, expected = run_example(example, fresh_system, environ)
    assert expected or "> " in example.command, "a command is followed by what it prints"
    assert printed == expected


def test_every_command_is_run() -> None:
    text = Path(PAGE).read_text()
    assert text.count("\n$ ") == len(EXAMPLES) + len(SET_UP)


def test_a_command_that_reads_is_asked_again_until_a_slow_worker_has_decided(
    fresh_system: Live, environ: dict[str, str]
) -> None:
    send, tail = (each for each in EXAMPLES if "ci-1" in each.command)
    again = tail._replace(command=tail.command.replace("ci-1", "ci-2"))
    fresh_system.worker.signal(signal.SIGSTOP)
    run(here(send.command.replace("ci-1", "ci-2"), fresh_system), None, environ)
    early = run(here(again.command, fresh_system), None, environ)
    fresh_system.worker.signal(signal.SIGCONT)
    printed, expected = run_example(again, fresh_system, environ)
    assert early == []
    assert printed == expected


def test_what_sends_is_run_once() -> None:
    sending = [
        each for each in EXAMPLES if " send " in each.command or "audit write" in each.command
    ]
    assert sending
    assert not any(example.reads for example in sending)
    assert not Example("curl -s URL --json @envelope.json", ["{}"]).reads
