"""Every pair of statuses, by TaskUpdate and by TaskResponse (ASAP guide, 4.1, 5.4)."""

from __future__ import annotations

from itertools import product

import pytest

from schemas.asap import TaskStatus
from tests.unit.protocols.asap.processor.support import Bench, Json
from topology import VALID_TRANSITIONS

SPEC = {
    "submitted": "working rejected cancelled",
    "working": "input_required paused completed failed cancelled",
    "input_required": "working cancelled",
    "paused": "working cancelled",
    "completed": "",
    "failed": "",
    "cancelled": "",
    "rejected": "",
}
STATUSES = tuple(SPEC)
ENDS = ("completed", "failed", "cancelled", "rejected")
PAIRS = list(product(STATUSES, STATUSES))


def at(status: str) -> Bench:
    bench = Bench()
    bench.put_in(status)
    assert bench.task()["status"] == status
    return bench


def steps(fact: Json) -> list[tuple[str, str, bool]]:
    return [(s["from_status"], s["to_status"], s["implied"]) for s in fact["transitions"]]


def test_the_machine_is_the_specs() -> None:
    for status, following in SPEC.items():
        assert {s.value for s in VALID_TRANSITIONS[TaskStatus(status)]} == set(following.split())


@pytest.mark.parametrize(("current", "status"), PAIRS)
def test_an_update(current: str, status: str) -> None:
    bench = at(current)
    before, moves_before = bench.task(), len(bench.moves())
    fact = bench.update(status)
    if current in ENDS:
        assert (fact["rule"], fact["asap_error"]) == (
            "task_already_terminal",
            "asap:task/already_completed",
        )
    elif status == current:
        assert (fact["rule"], steps(fact)) == ("progress_noted", [])
    elif status in SPEC[current].split():
        assert (fact["rule"], steps(fact)) == ("status_changed", [(current, status, False)])
    else:
        assert fact["rule"] == "invalid_transition"
        assert fact["figures"] == {"from_status": current, "to_status": status}
    accepted = fact["verdict"] == "accepted"
    assert bench.task()["status"] == (status if accepted else current)
    assert fact["status"] == bench.task()["status"]
    assert bench.moves()[moves_before:] == ([(current, status)] if steps(fact) else [])
    if not accepted:
        assert (fact["fault"], fact["sequence"], fact["envelope"]) == ("sender", None, None)
        assert bench.task() == before


@pytest.mark.parametrize(("current", "status"), PAIRS)
def test_a_response(current: str, status: str) -> None:
    bench = at(current)
    moves_before = len(bench.moves())
    fact = bench.respond(status)
    direct = status == current or status in SPEC[current].split()
    implied = not direct and "working" in SPEC[current] and status in SPEC["working"].split()
    if current in ENDS:
        agrees = status == current
        assert fact["rule"] == ("response_recorded" if agrees else "task_already_terminal")
        assert steps(fact) == []
    elif not direct and not implied:
        assert fact["rule"] == "invalid_transition"
    elif status == current:
        assert (fact["rule"], steps(fact)) == ("progress_noted", [])
    else:
        assert fact["rule"] == ("response_recorded" if status in ENDS else "status_changed")
        last = "working" if implied else current
        first = [(current, "working", True)] if implied else []
        assert steps(fact) == [*first, (last, status, False)]
    assert bench.moves()[moves_before:] == [(a, b) for a, b, _ in steps(fact)]
    recorded = fact["rule"] == "response_recorded"
    assert (bench.task()["response"] == fact["envelope"]) == recorded or not recorded
    assert (bench.task()["response"] is not None) == recorded


@pytest.mark.parametrize("status", ENDS)
def test_a_response_after_the_end_is_recorded_once(status: str) -> None:
    bench = at(status)
    assert bench.respond(status)["rule"] == "response_recorded"
    assert bench.respond(status)["rule"] == "task_already_terminal"


@pytest.mark.parametrize("status", STATUSES)
def test_a_cancel_ends_what_is_open(status: str) -> None:
    bench = at(status)
    fact = bench.requester("TaskCancel")
    assert fact["rule"] == ("task_already_terminal" if status in ENDS else "task_cancelled")
    assert bench.armed() == []


@pytest.mark.parametrize("status", STATUSES)
def test_time_ends_what_is_open(status: str) -> None:
    bench = at(status)
    due = bench.task()["timeout_at"]
    bench.advance_to(bench.now + 700_000)
    fact = bench.facts()[-1]
    if status in ENDS:
        assert fact["rule"] != "task_timeout"
        return
    assert (fact["rule"], fact["kind"], fact["at"]) == ("task_timeout", "timeout", due)
    assert steps(fact) == [(status, "failed", False)]
    assert fact["sequence"] == bench.task()["sequence"]
    assert bench.task()["error_code"] == fact["asap_error"] == "asap:execution/task_timeout"


@pytest.mark.parametrize("update_type", ["progress", "input_required", "status_change"])
@pytest.mark.parametrize("status", STATUSES)
def test_what_an_update_is_about_goes_with_its_status(update_type: str, status: str) -> None:
    fact = at("working").worker("TaskUpdate", {"update_type": update_type, "status": status})
    asks = update_type == "input_required" and status != "input_required"
    ends = update_type == "progress" and status in ENDS
    assert (fact["rule"] == "update_type_mismatch") == (asks or ends)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize("sender", ["requester", "worker"])
def test_a_users_message_is_the_input_that_was_asked_for(
    status: str, role: str, sender: str
) -> None:
    bench = at(status)
    say = bench.requester if sender == "requester" else bench.worker
    urn = bench.task()[sender]
    fact = say("MessageSend", {"sender": urn, "role": role})
    received = (status, role, sender) == ("input_required", "user", "requester")
    assert fact["rule"] == ("input_received" if received else "message_forwarded")
    assert bench.task()["status"] == ("working" if received else status)
