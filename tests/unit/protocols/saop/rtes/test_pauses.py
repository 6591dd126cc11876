"""Pause tasks that have failed too often, pause and resume them for operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from streams.engine.processor import AvroValue
from streams.verify.run import verify
from tests.unit.processing.harness import Sent
from tests.unit.protocols.saop.processor.support import Bench as TurnBench
from tests.unit.protocols.saop.processor.support import envelope, signal
from tests.unit.protocols.saop.rtes.support import (
    Bench,
    control,
    pulse,
    rewind,
    transition,
    uuid,
)
from tests.unit.schemas import examples
from tests.unit.views.bench import Bench as ViewBench
from topology.saop import (
    RTES_EVENTS,
    SAOP_CONTROL_LOG,
    SAOP_CONTROLS,
    SAOP_TASK_SIGNALS,
    SAOP_TASKS_TABLE,
    saop_task_key,
)

ACTIVE = transition(1, "PENDING", "IN_PROGRESS")
FAILED = transition(2, "IN_PROGRESS", "FAILED")


def order(bench: Bench, command: AvroValue, **record: Any) -> AvroValue:
    """The fact about a control."""
    sent = bench.decide(bench.message(command, bench.now, avro=True, topic=SAOP_CONTROLS, **record))
    (fact,) = bench.of(SAOP_CONTROL_LOG, sent)
    return fact.value


def row(bench: Bench, task: str = "t1") -> AvroValue:
    value = bench.row(SAOP_TASKS_TABLE, saop_task_key("s1", task))
    assert value is not None
    return value


def events(sent: list[Sent], bench: Bench) -> list[AvroValue]:
    return [one.value for one in bench.of(RTES_EVENTS, sent)]


def kinds(sent: list[Sent], bench: Bench) -> list[str]:
    return [one.value["kind"] for one in bench.of(SAOP_TASK_SIGNALS, sent)]


def paused_bench() -> Bench:
    bench = Bench(saop_on_failures="pause", saop_failures=1)
    bench.recorded(ACTIVE)
    return bench


def test_the_failure_that_reaches_the_limit_is_followed_by_a_pause_in_its_transaction() -> None:
    bench = paused_bench()
    sent = bench.decide(bench.event(FAILED))
    failed, paused = events(sent, bench)
    assert (failed["rule"], failed["flags"], failed["sequence"]) == ("edge", ["escalated"], 2)
    assert (paused["rule"], paused["sequence"], paused["task_id"]) == ("paused", 3, "t1")
    assert paused["cause"] == failed["cause"]
    move = paused["payload"][1]
    assert (move["from_state"], move["to_state"]) == ("FAILED", "PAUSED")
    assert kinds(sent, bench) == ["paused", "failures"]
    signal = bench.of(SAOP_TASK_SIGNALS, sent)[-1].value
    assert (signal["enforced"], signal["failures"]) == (True, 1)
    pause = row(bench)["pause"]
    assert (row(bench)["state"], pause["by"], pause["sequence"]) == ("PAUSED", "failures", 3)
    assert bench.rule(FAILED) == "event_duplicate"


@pytest.mark.parametrize("settings", [{"saop_on_failures": "report"}, {}])
def test_by_default_a_task_that_failed_too_often_is_only_reported(settings: dict[str, Any]) -> None:
    bench = Bench(saop_failures=1, **settings)
    bench.recorded(ACTIVE)
    sent = bench.decide(bench.event(FAILED))
    assert [event["rule"] for event in events(sent, bench)] == ["edge"]
    assert bench.of(SAOP_TASK_SIGNALS, sent)[-1].value["enforced"] is False
    assert row(bench)["pause"] is None


def test_a_task_of_another_protocol_is_not_paused() -> None:
    bench = Bench(saop_on_failures="pause", saop_failures=1)
    sent = bench.decide(bench.event(transition(1, "a", "FAILED", origin="asap")))
    assert len(events(sent, bench)) == 1


def test_while_a_pause_stands_transitions_are_refused_and_other_events_are_recorded() -> None:
    bench = paused_bench()
    bench.decide(bench.event(FAILED))
    again = transition(3, "PAUSED", "IN_PROGRESS")
    for sent in (
        again,
        transition(4, "IN_PROGRESS", "COMPLETED"),
        transition(5, "FAILED", "PENDING"),
    ):
        fact = bench.judge(sent).value
        assert (fact["verdict"], fact["rule"], fact["fault"]) == (
            "rejected",
            "task_paused",
            "sender",
        )
    assert bench.rule(pulse(6)) == "recorded"
    assert bench.rule(transition(7, "PENDING", "IN_PROGRESS", task="t2")) == "edge"
    assert order(bench, control(1, "resume"))["rule"] == "task_resumed"
    assert bench.rule(transition(3, "IN_PROGRESS", "COMPLETED")) == "edge"  # refused ids stay free


def test_a_resumed_task_goes_on_with_its_failures_cleared() -> None:
    bench = paused_bench()
    bench.decide(bench.event(FAILED))
    message = bench.message(control(1, "resume"), bench.now, avro=True, topic=SAOP_CONTROLS)
    sent = bench.decide(message)
    (event,) = events(sent, bench)
    assert (event["rule"], event["control_id"]) == ("resumed", uuid(9501))
    assert kinds(sent, bench) == ["resumed"]
    after = row(bench)
    assert (after["state"], after["failures"], after["pause"]) == ("IN_PROGRESS", 0, None)
    sent = bench.decide(bench.event(transition(9, "IN_PROGRESS", "FAILED")))
    assert [each["rule"] for each in events(sent, bench)] == ["edge", "paused"]


def test_an_operator_pauses_an_active_task_and_resumes_it() -> None:
    bench = Bench()
    bench.recorded(ACTIVE)
    fact = order(bench, control(1, "pause", reason="it repeats itself"))
    assert {
        name: fact[name] for name in ("verdict", "rule", "from_state", "to_state", "sequence")
    } == {
        "verdict": "accepted",
        "rule": "task_paused_by_operator",
        "from_state": "IN_PROGRESS",
        "to_state": "PAUSED",
        "sequence": 2,
    }
    assert (fact["requested_by"], fact["reason"]) == ("kim", "it repeats itself")
    pause = row(bench)["pause"]
    assert (pause["by"], pause["control_id"]) == ("operator", uuid(9501))
    fact = order(bench, control(2, "resume"))
    assert (fact["from_state"], fact["to_state"], fact["sequence"]) == ("PAUSED", "IN_PROGRESS", 3)


def test_controls_are_refused_where_nothing_is_to_be_done() -> None:
    bench = Bench()
    assert order(bench, control(1, "pause"))["rule"] == "task_unknown"
    bench.recorded(transition(1, "PENDING", "BLOCKED"))
    assert order(bench, control(2, "pause"))["rule"] == "task_not_active"
    assert order(bench, control(3, "resume"))["rule"] == "task_not_paused"
    bench.recorded(transition(2, "BLOCKED", "IN_PROGRESS"))
    bench.recorded(transition(3, "IN_PROGRESS", "PAUSED"))
    assert order(bench, control(4, "resume"))["rule"] == "task_not_paused"  # the agent's own pause
    bench.recorded(transition(4, "a", "b", task="t9", origin="sap"))
    assert order(bench, control(5, "pause", task_id="t9"))["rule"] == "task_unknown"
    fact = order(bench, control(6, "pause"))
    assert (fact["verdict"], fact["fault"], fact["sequence"]) == ("rejected", "sender", None)


def test_a_control_is_obeyed_once() -> None:
    bench = Bench()
    bench.recorded(ACTIVE)
    order(bench, control(1, "pause"))
    again = order(bench, control(1, "pause", control_id=uuid(9501).upper()))
    assert (again["verdict"], again["rule"], again["fault"]) == (
        "duplicate",
        "control_duplicate",
        None,
    )
    other = order(bench, control(1, "resume"))
    assert (other["verdict"], other["rule"]) == ("rejected", "control_conflict")
    assert row(bench)["state"] == "PAUSED"


@pytest.mark.parametrize("name", examples.invalid("saop/controls"))
def test_a_control_of_a_wrong_shape_is_refused(name: str) -> None:
    case = examples.invalid("saop/controls")[name]
    if case["rule"] == "control_id_invalid":
        fact = order(Bench(), control(1, "pause", control_id="c1"))
        assert fact["rule"] == case["rule"]


def test_a_control_under_another_key_is_refused() -> None:
    assert order(Bench(), control(1, "pause"), key=b"s2")["rule"] == "key_mismatch"


def test_a_rewind_ends_a_pause() -> None:
    bench = Bench()
    bench.recorded(transition(1, "PENDING", "IN_PROGRESS", git="5c0ffee"))
    order(bench, control(1, "pause"))
    bench.decide(bench.command(rewind(1, "apply", task="t1")))
    assert (row(bench)["state"], row(bench)["pause"]) == ("IN_PROGRESS", None)
    assert bench.rule(transition(5, "IN_PROGRESS", "COMPLETED")) == "edge"


def test_turns_of_a_paused_task_are_refused_and_kept_in_the_verdict() -> None:
    bench = TurnBench()
    assert bench.rule(envelope(0)) == "turn_logged"
    bench.decide(bench.signal(signal("paused")))
    verdict = bench.judge(envelope(1))
    assert (verdict["verdict"], verdict["rule"]) == ("rejected", "task_paused")
    assert orjson.loads(verdict["turn_json"])["turn_index"] == 1
    assert bench.rule(envelope(0)) == "turn_duplicate"
    assert bench.rule(envelope(0, task="t2")) == "turn_logged"
    bench.decide(bench.signal(signal("resumed")))
    assert bench.rule(envelope(1)) == "turn_logged"


def test_turns_that_wait_are_logged_in_a_pause_when_their_time_comes() -> None:
    bench = TurnBench(saop_hold_s=1)
    assert bench.rules(0, 2) == ["turn_logged", "turn_held"]
    bench.decide(bench.signal(signal("paused")))
    bench.advance(1000)
    assert bench.logged() == [0, 2]
    bench.decide(bench.signal(signal("rewound")))
    assert bench.rule(envelope(3)) == "turn_logged"


def test_pauses_are_verified_and_shown(tmp_path: Path) -> None:
    bench = ViewBench(tmp_path, saop_on_failures="pause", saop_failures=1)
    session = {"session_id": "s1"}

    def move(n: int, source: str, target: str) -> dict[str, Any]:
        payload = {
            "type": "TASK_TRANSITION",
            "task_id": "t1",
            "from_state": source,
            "to_state": target,
            "timestamp": "2026-01-01T00:00:00Z",
        }
        return {**session, "event_id": uuid(n), "payload": payload}

    bench.send("rtes.raw", move(1, "PENDING", "IN_PROGRESS"), move(2, "IN_PROGRESS", "FAILED"))
    order = {**session, "task_id": "t1", "requested_by": "kim"}
    resume = {**order, "control_id": uuid(3), "action": "resume"}
    bench.send("saop.controls", resume, resume, {**order, "control_id": uuid(4), "action": "pause"})
    bench.send("rtes.raw", move(5, "PAUSED", "IN_PROGRESS"))
    (escalation,) = bench.look("/v1/saop/escalations")["items"]
    assert escalation["enforced"] is True
    kinds = [
        each["payload"]["type"] for each in bench.look("/v1/rtes/events", "session_id=s1")["items"]
    ]
    assert kinds.count("ESCALATION_RAISED") == 1
    assert kinds.index("ESCALATION_RAISED") > 2
    (task,) = bench.look("/v1/saop/tasks", "session_id=s1")["items"]
    assert (task["state"], task["pause"]["by"]) == ("PAUSED", "operator")
    report = verify(bench.log, bench.settings, tmp_path / "verify")
    assert report.findings.counts == {}
    bench.close()
