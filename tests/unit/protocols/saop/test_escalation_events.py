"""Escalations are events of RTES too (SAOP guide, 2.2 and 4.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.protocols.saop.rtes.event_lines import recorded_line
from streams.verify.run import verify
from tests.unit.protocols.saop.queries.stage import move, turn
from tests.unit.views.bench import Bench

OWN_ID = "00000000-0000-4000-8000-00000000000a"


def events(bench: Bench, session_id: str) -> Any:
    query = f"session_id={session_id}&type=ESCALATION_RAISED"
    return bench.look("/v1/rtes/events", query)["items"]


def repeat(bench: Bench, task_id: str, first: int, observation: str) -> None:
    """Send three turns with the same observation."""
    for index in range(first, first + 3):
        bench.send("saop.turns", turn(task_id, index, "developer", observation=observation))


def test_an_escalation_of_a_task_in_no_session_has_the_id_of_the_task(bench: Bench) -> None:
    repeat(bench, "A", 0, "same")
    (escalation,) = bench.look("/v1/saop/escalations", "task_id=A")["items"]
    (event,) = events(bench, "A")
    assert event["event_id"] == escalation["escalation_id"]
    assert (event["origin"], event["task_id"], event["rule"]) == ("saop", "A", "recorded")
    assert event["payload"] == {
        "type": "ESCALATION_RAISED",
        "task_id": "A",
        "agent_id": "developer",
        "turn_index": 2,
        "detector": "repetition",
        "rules": ["observation_repeated"],
        "outcome": "strategy_pivot",
        "figures": {
            name: escalation[name]
            for name in ("observation_sha256", "run_length", "thresholds", "turn_indexes")
        },
        "timestamp": escalation["at"],
    }
    line = recorded_line(event)
    assert (line.who, line.what) == ("A, turn 2", "developer")
    assert (line.text, line.rule) == ("strategy_pivot", "observation_repeated")


def test_an_escalation_of_a_turn_is_in_the_session_in_which_its_task_began_last(
    bench: Bench,
) -> None:
    repeat(bench, "D", 0, "a")
    bench.send("rtes.raw", move("s2", "D", "PENDING", "IN_PROGRESS"))
    repeat(bench, "D", 3, "b")
    bench.send("rtes.raw", move("s3", "D", "PENDING", "IN_PROGRESS"))
    bench.send("rtes.raw", move("s2", "D", "IN_PROGRESS", "COMPLETED"))
    repeat(bench, "D", 6, "c")
    listed = bench.look("/v1/saop/escalations", "task_id=D")["items"]
    latest, second, first = (one["escalation_id"] for one in listed)
    assert [one["event_id"] for one in events(bench, "D")] == [first]
    assert [one["event_id"] for one in events(bench, "s2")] == [second]
    assert [one["event_id"] for one in events(bench, "s3")] == [latest]
    in_session = bench.look("/v1/saop/escalations", "session_id=s3")["items"]
    assert [one["escalation_id"] for one in in_session] == [latest, second, first]


def test_an_escalation_of_failures_follows_the_transition_that_caused_it(bench: Bench) -> None:
    state = "PENDING"
    for _ in range(5):
        for target in ("IN_PROGRESS", "FAILED"):
            bench.send("rtes.raw", move("s1", "C", state, target))
            state = target
    (event,) = events(bench, "s1")
    assert event["sequence"] == 11
    assert event["payload"]["outcome"] == "paused_for_intervention"
    assert event["payload"]["figures"]["failures"] == 5
    assert "agent_id" not in event["payload"]


def test_what_agents_and_the_service_escalate_is_decided_alike_by_verify(
    bench: Bench, tmp_path: Path
) -> None:
    repeat(bench, "A", 0, "same")
    bench.send("rtes.raw", move("s1", "A", "PENDING", "IN_PROGRESS"))
    repeat(bench, "A", 3, "other")
    (raised,) = events(bench, "A")
    bench.send("rtes.raw", {name: raised[name] for name in ("event_id", "session_id", "payload")})
    bench.send("rtes.raw", {"event_id": OWN_ID, "session_id": "s1", "payload": raised["payload"]})
    assert [(one["event_id"], one["origin"]) for one in events(bench, "s1")][-1] == (OWN_ID, None)
    (tmp_path / "verify").mkdir()
    report = verify(bench.log, bench.settings, tmp_path / "verify")
    assert report.findings.shown == []
