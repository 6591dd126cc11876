"""Check what the commands of APC print: text of two widths, and JSON in a pipe."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import main
from tests.unit.cli.apc.stage import REFUSED, SESSION, fill
from tests.unit.cli.looking import look_at
from tests.unit.envelopes import idea
from tests.unit.protocols.apc.queries.facts import evaluation, transfer
from tests.unit.protocols.apc.queries.test_arbitrate import GOOD
from tests.unit.views.bench import Bench

GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("GOLDEN") == "write"
COMMANDS = {
    "trace": ["apc", "trace", "--session-id", SESSION, "--limit", "8"],
    "replay": ["apc", "replay", "--run-id", "r1"],
    "explain": [
        *("apc", "explain", "--session-id", SESSION, "--packet-id", REFUSED),
        *("--what-if", "sender_score=0.9"),
    ],
    "lineage": ["apc", "lineage", "--session-id", SESSION],
    "throttling": ["apc", "throttling"],
    "decisions": ["apc", "decisions"],
    "coordination": ["apc", "coordination", SESSION],
    "protocols": ["apc", "protocols"],
    "priors": ["apc", "priors", "--order", "attempts"],
    "prior-tasks": ["apc", "priors", "--use-case", "fleet", "--explain", "m1"],
    "arbitrate": ["apc", "arbitrate", "--packets-in", "transfers.json"],
    "evaluate": ["apc", "evaluate", "--packet-in", "metrics.json"],
}
JSON_IN_A_PIPE = set(COMMANDS) - {"throttling", "decisions", "protocols", "priors", "prior-tasks"}
Run = Callable[..., str]


@pytest.fixture
def run(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Return what a command prints about the session."""
    fill(bench)
    try_strategies(bench)
    look_at(bench, monkeypatch)
    monkeypatch.chdir(tmp_path)
    scores = (0.84, 0.86, 0.85, 0.88)
    unsent = [transfer(n, "px", payload__sender_score=score) for n, score in enumerate(scores)]
    Path("transfers.json").write_text(json.dumps(unsent))
    Path("metrics.json").write_text(json.dumps({**GOOD, "stability": 0.8}))

    def run(name: str, *more: str, columns: int = 80) -> str:
        environ = {"COLUMNS": str(columns), "HEADRACE_GATEWAY": "127.0.0.1:0"}
        result = CliRunner().invoke(main, [*COMMANDS[name], *more], env=environ)
        assert result.exit_code == (1 if name == "evaluate" else 0), result.output
        return result.stdout

    return run


def try_strategies(bench: Bench) -> None:
    """Send ideas and evaluations of another session and run."""
    for number, (method, outcome) in enumerate((("m1", 0.7), ("m1", 0.55), ("m2", 0.2)), 300):
        trace = {"session_id": "s-tried", "run_id": "r-tried", "task_id": f"t{number}"}
        members = {f"trace__{name}": text for name, text in trace.items()}
        metadata = {"use_case": "fleet"}
        method_of = {"payload__method_id": method, "routing__requires_ack": False}
        bench.send("apc.packets", idea(number, metadata=metadata, **method_of, **members))
        bench.send("apc.packets", evaluation(number + 100, outcome, 0.1, **members))


def golden(name: str, printed: str) -> None:
    """Compare with the stored text; GOLDEN=write stores it."""
    masked = re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "<time>......", printed)
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(masked)
    assert masked == path.read_text()


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_text_for_people(name: str, columns: int, run: Run) -> None:
    printed = run(name, "--text", columns=columns)
    assert max(map(len, printed.splitlines())) <= max(columns, 100)
    golden(f"{name}-{columns}", printed)


@pytest.mark.parametrize("name", sorted(JSON_IN_A_PIPE))
def test_a_pipe_gets_the_answer_of_the_route(name: str, run: Run) -> None:
    printed = run(name)
    assert printed == run(name, "--json")
    assert printed == json.dumps(json.loads(printed), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", ["throttling", "decisions"])
def test_a_list_is_a_table_in_a_pipe_with_nothing_cut(name: str, run: Run) -> None:
    title, row = run(name).splitlines()[:2]
    assert title.split()[0] in ("updated_at", "at")
    assert "T00:00:00" in row
    assert json.loads(run(name, "--json"))["next"] is None


def test_what_the_trace_sends_for_people_is_an_addition(bench: Bench) -> None:
    fill(bench)
    plain = bench.get("/v1/apc/packets", f"session_id={SESSION}").body
    detailed = bench.get("/v1/apc/packets", f"session_id={SESSION}&verdicts=true").body
    for before, after in zip(plain["packets"], detailed["packets"], strict=True):
        assert before.items() <= after.items()
        more: dict[str, Any] = {name: after[name] for name in after.keys() - before.keys()}
        assert more.keys() == {"session_id", "sender", "recipients"}
    assert plain["events"] == detailed["events"]
