"""Check that texts of others neither control the terminal nor look like lines of a command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.cli.gateway_client import NoGateway
from streams.cli.sap import explain
from streams.log import dead_letters
from streams.ops import doctor
from streams.ops.doctor.findings import fail
from tests.unit.cli.test_printable import HOSTILE, controls

FORGED = "FORGED  accepted"
TEXT = f"{HOSTILE}\n{FORGED}\r\n\t{FORGED}\u2028{FORGED}"
CLI = Path(common.__file__).parent
ID = "01M7YRRRS4RFVVVX9QRHKJ8E9C"
LISTS = {
    "acks", "agents", "blocked", "candidates", "checks", "commands", "decisions", "edges", "errors",
    "event_stream", "events", "heuristics", "history", "intra", "items", "lookups", "messages",
    "nodes", "outcomes", "packets", "protocol_effectiveness", "protocols", "receivers",
    "recipients", "selected_packet_ids", "snapshots", "steps", "tasks", "transfer_quality",
    "transitions", "versions", "violations", "warnings",
}  # fmt: skip
OBJECTS = {
    "arbitration", "block_reason_counts", "constitutionalEvidence", "correlation",
    "counterfactual", "error", "evaluation", "gates", "headrace", "inter", "last_decision", "meta",
    "pearson", "point_biserial", "prior", "reject_reason_counts", "rejected", "state", "summary",
    "throttle", "transfer_arbitration",
}  # fmt: skip
ABSENT = {"cut", "refused"}
TYPED = ("asap", "sap-task", "sap-learning", "saop", "rtes calls")
"""Commands whose texts need figures in some members: `texts` tests these texts."""


class HostileAnswer(dict[str, Any]):
    """A response that has every member, each with a hostile text."""

    def __init__(self) -> None:
        super().__init__(
            {TEXT: TEXT, "task": {TEXT: TEXT}, "array": [TEXT], "object": {TEXT: TEXT}}
        )

    def __missing__(self, name: str) -> Any:
        if name in ABSENT:
            return None
        if name in LISTS:
            return [HostileAnswer(), HostileAnswer()]
        return HostileAnswer() if name in OBJECTS else TEXT

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name not in ABSENT


@pytest.fixture(autouse=True)
def hostile_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer every request with hostile texts."""
    monkeypatch.setattr(common, "ask", lambda *_: HostileAnswer())
    monkeypatch.setattr(common, "connect", lambda _: nullcontext())


def check_output(result: Result, is_cut: bool = False) -> None:
    """Check that what was printed is inert, and that the hostile text is there."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    check_lines(result.stdout + result.stderr, HOSTILE[0] if is_cut else FORGED)


def check_lines(text: str, part: str = FORGED) -> None:
    assert controls(text.replace("\n", "")) == []
    assert part in text
    assert [line for line in text.splitlines() if line.strip().startswith(FORGED)] == []


@pytest.mark.parametrize(
    "words",
    [
        "saop turns --task t",
        "saop tasks",
        "saop escalations",
        "saop audit",
        "rtes calls --session s",
        "rtes rejections --session s",
        "rtes rejections --session s --text --wide",
        f"asap task {ID}",
        "asap tasks",
        f"asap events {ID} --at 1",
        f"asap snapshots {ID}",
        f"asap snapshots {ID} 1",
        f"asap messages {ID}",
        "asap agents",
        "asap agents urn:asap:agent:a",
        "sap-cache KEY",
        "sap-cache KEY --versions",
        "sap-learning a.b",
        "sap-task 85f5f684-6830-5973-b27c-6b55b83f9b23 --as-of now",
        "packet-trace --session-id s",
        "packet-replay --run-id r",
        "packet-explain --packet-id 85f5f684-6830-5973-b27c-6b55b83f9b23 --session-id s",
        "packet-lineage-summary",
        "apc throttling",
        "apc decisions",
        "apc protocols",
        "apc priors",
        "apc priors --explain m",
        "apc coordination s",
        "saop sessions",
        "query /v1/apc/packets",
    ],
)
@pytest.mark.parametrize("form", ["", "--text", "--text --wide --local", "--json"])
def test_answers(words: str, form: str) -> None:
    is_typed = words.startswith(TYPED) and form != "--json"
    if is_typed or words.startswith("query") or "--text" in words:
        form = ""
    result = CliRunner().invoke(main, [*words.split(), *form.split()])
    assert result.exit_code == 0, repr(result.exception)
    check_output(result, is_cut=form == "--text")


def test_explanation_of_a_sap_task(capsys: pytest.CaptureFixture[str]) -> None:
    explain._show(HostileAnswer())
    check_lines(capsys.readouterr().out)


def test_dead_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "ask_gateway", lambda *_: NoGateway())
    monkeypatch.setattr(dead_letters, "groups", lambda *_: [HostileAnswer()])
    check_output(CliRunner().invoke(main, ["dlq", "list"]))
    check_output(CliRunner().invoke(main, ["dlq", "list", "--json"]))


def test_findings_of_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: [fail("topics", TEXT, TEXT)])
    check_output(CliRunner().invoke(main, ["doctor"]))


def test_errors() -> None:
    check_output(CliRunner().invoke(main, ["tail", TEXT]))
    check_output(CliRunner().invoke(main, ["dlq", "show", TEXT]))


def calls_of_click() -> Iterator[str]:
    """Yield where commands print without escaping."""
    for path in sorted(CLI.rglob("*.py")):
        for match in re.finditer(r"click\.(echo|secho|style)\b", path.read_text()):
            yield f"{path.relative_to(CLI)}: {match.group()}"


def test_commands_print_through_one_function() -> None:
    """Check that only the completion script, our own text for a shell, goes another way."""
    assert list(calls_of_click()) == [
        *["common.py: click.echo"] * 3,
        "completion.py: click.echo",
    ]
