"""Check what commands across protocols print for people, on terminals and in a pipe."""

from __future__ import annotations

import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import nullcontext, suppress
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import audit_chains, common, lineage, main
from streams.cli.gateway_client import NoGateway
from streams.cli.lineage_drawing import DRAWINGS
from streams.cli.text import Page
from streams.log import dead_letters
from streams.ops import doctor
from streams.ops.audit.verify import AuditResult, ChainStatus
from streams.ops.doctor.findings import fail, ok, warn
from streams.play.scenario import play
from streams.settings import Settings
from streams.view_store.graph.queries import DEPTH, WAYS
from tests.unit.cli.hostile_values import HOSTILE
from tests.unit.cli.stub_gateway import StubGateway
from tests.unit.envelopes import idea, packet_id

ROOT = Path(__file__).parents[3]
REFUSALS = ROOT / "scenarios" / "refusals.jsonl"
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NODES = [f"apc:packet:{packet_id(number)}" for number in range(6)]


def run(*words: str, columns: int = 80, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, words, input=stdin, env={"COLUMNS": str(columns)})


def lines(*words: str, **options: Any) -> list[str]:
    result = run(*words, **options)
    assert not UNPRINTABLE.search(result.stdout)
    return result.stdout.splitlines()


@pytest.mark.parametrize("columns", [80, 120])
def test_play_prints_a_line_for_each_input(columns: int, tmp_path: Path) -> None:
    path = tmp_path / "scenario.jsonl"
    path.write_text("".join(REFUSALS.read_text().splitlines(keepends=True)[:5]) + "\n")
    with path.open("a") as file:
        file.write('{"advance_ms": 120000}\n{"restart": true}\n')
        file.write('{"query": "GET /v1/apc/packets?run_id=none"}\n')
    result = run("play", "--text", str(path), columns=columns)
    printed = result.stdout.splitlines()
    assert all(len(line) <= columns for line in printed[:7])
    fourth = "builder-1" if columns > 80 else "✖ refused    phase_type: IDEA is"
    assert printed[3].startswith(f"  4  apc.packets  IDEA 00000000  {fourth}")
    assert [line[:42].rstrip() for line in (*printed[:3], *printed[4:7])] == [
        "  1  apc.packets  IDEA 7f0c2f5d  builder-1",
        "  2  apc.packets  IDEA 7f0c2f5d  = duplica",
        "  3  apc.packets  IDEA 7f0c2f5d  ✖ refused",
        "  5  apc.packets  ✖ refused    number_rang",
        "  7  advance      2 min    ttl_expired",
        "  8  restart      all tables restored from",
    ]
    assert printed[7] == "  9  query        GET /v1/apc/packets?run_id=none  200"
    assert printed[8] == "      {"
    assert re.fullmatch(
        r"8 lines: 1 accepted, 1 duplicate, 3 refused, 0 dead letters; \d+ records;"
        r" clock 00:02:00\.\d{3}\. All records: --json\n",
        result.stderr,
    )


def test_play_in_a_pipe_prints_the_records() -> None:
    outputs = list(play(REFUSALS.read_text().splitlines(), Settings(partitions=1)))
    expected = "".join(common.json_line(output) + "\n" for output in outputs)
    assert run("play", str(REFUSALS)).stdout == common.printable(expected, "\n")
    assert run("play", "--json", str(REFUSALS)).stdout == common.printable(expected, "\n")


def test_validate() -> None:
    assert lines("validate", "--text", "apc.packet", stdin=json.dumps(idea())) == ["✔ valid"]
    wrong = json.dumps(idea(confidence=2))
    assert lines("validate", "--text", "apc.packet", stdin=wrong) == [
        "rule          path         message",
        "number_range  /confidence  confidence must be at most 1, not 2.",
    ]
    assert json.loads(run("validate", "apc.packet", stdin=wrong).stdout)["valid"] is False


def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = [ok("java", "17"), warn("ports", "8640 is taken", "stop it"), fail("broker", "-", "x")]
    monkeypatch.setattr(doctor, "examine", lambda: checks)
    assert lines("doctor", "--text") == [
        "✔  java             17",
        "!  ports            8640 is taken",
        "                    → stop it",
        "✖  broker           -",
        "                    → x",
    ]
    assert lines("doctor")[0] == "ok    java             17"
    assert json.loads(lines("doctor", "--json")[1])["level"] == "warn"


def test_dead_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    group = {
        "topic": "apc.packets.dlq",
        "code": "decide_failed",
        "count": 1200,
        "message": "no " * 60,
    }
    group |= {"last": "2026-01-01T00:00:00.000Z", "position": "apc.packets.dlq/0/4"}
    monkeypatch.setattr(common, "connect", lambda _: nullcontext())
    monkeypatch.setattr(common, "ask_gateway", lambda *_: NoGateway())
    monkeypatch.setattr(dead_letters, "groups", lambda *_: [group])
    title, row, *advice = lines("dlq", "list", "--text", columns=120)
    assert title.split() == ["topic", "code", "count", "last", "position", "message"]
    assert row.startswith(
        "✖  apc.packets.dlq  decide_failed  1,200  2026-01-01 00:00:00.000  apc.pack"
    )
    assert row.endswith("…")
    assert len(row) <= 120
    assert advice[1] == "→  when the cause is fixed: headrace dlq redrive --code CODE --dry-run"
    assert "1200" in lines("dlq", "list")[1]
    monkeypatch.setattr(dead_letters, "groups", lambda *_: [])
    assert lines("dlq", "list", "--text") == ["✔ no dead letters"]
    assert lines("dlq", "list") == ["no dead letters"]


def test_dead_letters_come_from_a_gateway(gateway: StubGateway) -> None:
    group = {"topic": "apc.packets.dlq", "code": "schema_unknown", "count": 2}
    group |= {"first": "2026-01-01T00:00:00.000Z", "last": "2026-01-01T00:00:00.000Z"}
    group |= {"message": "no", "position": "apc.packets.dlq/0/4"}
    gateway.body = {"items": [group], "next": None}
    url = f"http://{gateway.address}"
    assert json.loads(run("dlq", "list", "--json", "--gateway", url).stdout) == group
    assert "schema_unknown" in run("dlq", "list", "--gateway", url).stdout
    assert [path for path, _ in gateway.requests] == [
        "/v1/dead-letters/summary?limit=1000&fresh=true"
    ] * 2


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("summit runs --limit 3", "no runs"),
        ("summit runs --state failed --agent a", "no runs with --agent a --state failed"),
        ("apc protocols --not-blocked", "no protocols with --not-blocked"),
        ("apc trace --session-id s-9", "no packets with --session-id s-9"),
        ("sap learning a.b", "no outcomes of a.b"),
        ("rtes events --session s", "no events with --session s"),
        ("asap events t-1", "no events of t-1"),
        ("verdicts", "no refused or duplicate records"),
    ],
)
def test_an_empty_list_says_so_to_people(
    words: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty: dict[str, Any] = {"items": [], "next": None, "packets": [], "events": [], "cursor": None}
    monkeypatch.setattr(common, "ask", lambda *_: empty)
    assert lines(*words.split(), "--text") == [line]
    assert "no " not in run(*words.split()).stdout
    assert json.loads(run(*words.split(), "--json").stdout) == empty


def test_audit(capsys: pytest.CaptureFixture[str]) -> None:
    sealed = ChainStatus(
        "apc.events/0", 2, 31, 30, "2026-01-01T00:00:00.000Z", 3, 1_767_225_600_000
    )
    audit_chains._show_text(AuditResult((sealed,), ()), Page())
    assert capsys.readouterr().out.splitlines() == [
        "   place         checkpoints  covered to  records  sealed at                not covered",
        "✔  apc.events/0            2          31       30  2026-01-01 00:00:00.000            3",
        "–  apc.events/0  not_covered  no checkpoint covers the last 3 records, the oldest of"
        " 2026-01-01 00:00:00.000",
        "→  write a checkpoint: headrace audit write --once",
        "✔  30 records are as they were sealed",
    ]


def graph() -> dict[str, Any]:
    """Return a packet that came of a trace, was answered, and was retracted; with a cycle."""
    edges = [
        (NODES[1], "same_trace", "trace:s"),
        (NODES[2], "acknowledges", NODES[1]),
        (NODES[3], "retracts", NODES[1]),
        (NODES[4], "child_of", NODES[2]),
        (NODES[2], "child_of", NODES[4]),
    ]
    retracted = {NODES[1]: [NODES[3]]}
    nodes = [
        {"node": node, "distance": min(n, 1), "retracted_by": retracted.get(node, [])}
        for n, node in enumerate((*NODES[1:5], "trace:s"))
    ]
    items = [{"from_node": a, "relation": r, "to_node": b} for a, r, b in edges]
    return {"nodes": nodes, "items": items, "next": None, "cut": None}


def test_lineage_is_a_tree_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "ask", lambda *_: graph())
    tree = lines("lineage", NODES[1], "--text")
    assert tree == [
        "apc:packet:00000000  retracted by apc:packet:00000000",
        "├─ came of   same_trace   trace:s",
        "├─ led to    acknowledges apc:packet:00000000",
        "│  └─ led to    child_of     apc:packet:00000000",
        "│     └─ led to    child_of     apc:packet:00000000 (above)",
        "└─ led to    retracts     apc:packet:00000000",
    ]
    assert lines("lineage", NODES[1], "--format", "tree") == tree
    assert json.loads(run("lineage", NODES[1]).stdout) == graph()
    assert json.loads(run("lineage", NODES[1], "--json").stdout) == graph()
    assert run("lineage", NODES[1], "--json", "--format", "dot").exit_code == 2


def test_lineage_has_the_ways_and_the_depth_of_the_route() -> None:
    assert tuple(WAYS) == lineage.WAYS
    assert lineage.DEPTH == DEPTH
    assert set(lineage.FORMATS) == {"tree", "json", *DRAWINGS}


def test_a_long_chain_is_no_matter_of_recursion(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [{"from_node": f"n{n}", "relation": "r", "to_node": f"n{n + 1}"} for n in range(3000)]
    nodes = [{"node": "n0", "distance": 0, "retracted_by": []}]
    page = {"nodes": nodes, "items": edges, "next": None, "cut": None}
    monkeypatch.setattr(common, "ask", lambda *_: page)
    assert len(lines("lineage", "n0", "--text", "--wide")) == 3001


REJECTIONS = {
    "items": [
        {
            "at": "2026-01-01T12:04:31.118Z", "type": "THOUGHT_STREAM", "verdict": "duplicate",
            "rule": "event_duplicate", "errors": [], "figures": {}, "first_sequence": 41,
            "event_id": NODES[0], "cause": "rtes.raw/0/1",
        },
        {
            "at": "2026-01-01T12:04:33.004Z", "type": "SANDBOX_PULSE", "verdict": "rejected",
            "rule": "event_id_conflict", "errors": [{"message": "another event has this id"}],
            "figures": {"first_sequence": 12}, "first_sequence": None, "event_id": NODES[0],
            "cause": "rtes.raw/0/2",
        },
    ],
    "next": None,
}  # fmt: skip


def test_rejections_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "ask", lambda *_: REJECTIONS)
    monkeypatch.setattr(common, "now_ms", lambda: 1_767_268_800_000)
    assert lines("rtes", "rejections", "--session", "s", "--text", columns=120) == [
        "time          type            verdict      rule               reason",
        "12:04:31.118  THOUGHT_STREAM  = duplicate  event_duplicate    recorded before as #41",
        "12:04:33.004  SANDBOX_PULSE   ✖ refused    event_id_conflict  another event has this id;"
        " first recorded as #12",
    ]
    narrow = lines("rtes", "rejections", "--session", "s", "--text")
    assert max(map(len, narrow)) <= 80
    assert narrow[2].strip() == "recorded before as #41"
    assert lines("rtes", "rejections", "--session", "s")[0].split()[:3] == ["at", "verdict", "rule"]


def event(sequence: int, **payload: Any) -> dict[str, Any]:
    members: dict[str, Any] = {
        "session_id": "s-9",
        "task_id": None,
        "flags": [],
        "masked_arguments": 0,
    }
    at = f"2026-01-01T12:04:31.{sequence:03}Z"
    return {**members, "sequence": sequence, "recorded_at": at, "payload": payload}


def test_events_are_lines_as_those_of_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    thought = {"type": "THOUGHT_STREAM", "agent_id": "developer", "turn_index": 0}
    pulse = {"type": "SANDBOX_PULSE", "line": HOSTILE, "masked": True}
    items = [event(1, **thought, chunk="I "), event(2, **thought, chunk="see."), event(3, **pulse)]
    monkeypatch.setattr(common, "ask", lambda *_: {"items": items, "next": None})
    printed = lines("rtes", "events", "--session", "s-9")
    assert printed[0] == "12:04:31.001  s-9 #1–2  developer, turn 0  ┃ I see."
    assert printed[1].startswith(
        "12:04:31.003  s-9 #3  sandbox  │ [red]a[/red]\\x1b[31m\\x1b]0;owned"
    )
    assert printed[1].endswith("(masked)")
    assert lines("rtes", "events", "--session", "s-9", "--text") == printed
    assert json.loads(run("rtes", "events", "--session", "s-9", "--json").stdout)["items"] == items


def on_terminal(*words: str, columns: int, **environ: str) -> str:
    """Return what a command prints on a pseudo-terminal of this width."""
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "streams.cli", *words]
    names = ("COLUMNS", "NO_COLOR", "COLORTERM", "FORCE_COLOR")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=subprocess.PIPE, cwd=ROOT,
        env={**clean, "TERM": "xterm-256color", **environ},
    ) as process:  # fmt: skip
        os.close(follower)
        output = b""
        with suppress(OSError):  # EIO: the command has closed the other end
            while chunk := os.read(leader, 65536):
                output += chunk
        process.communicate()
    os.close(leader)
    return output.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_terminal_only_colours_control_it(columns: int, tmp_path: Path) -> None:
    packet = tmp_path / "packet.json"
    packet.write_text(json.dumps(idea(confidence=2, **{"x\x1b[31m": 1})))
    coloured = on_terminal("validate", "apc.packet", str(packet), columns=columns)
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert not UNPRINTABLE.search(plain)
    assert plain.splitlines()[0].split() == ["rule", "path", "message"]
    assert max(map(len, plain.splitlines())) <= columns


@pytest.mark.slow
def test_no_colours_where_the_user_wants_none() -> None:
    printed = on_terminal("play", "scenarios/refusals.jsonl", columns=80, NO_COLOR="1")
    assert not UNPRINTABLE.search(printed)
    assert printed.startswith("  1  apc.packets  IDEA 7f0c2f5d  builder-1 → sentinel-1  ✔ accepted")
