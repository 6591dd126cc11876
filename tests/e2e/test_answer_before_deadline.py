"""A deadline counts by the log: an answer that lay there in time counts, whenever it is read."""

from __future__ import annotations

import time

import pytest

from tests.e2e import checker, history
from tests.e2e.environment import Environment
from tests.e2e.figures import ms
from tests.e2e.outputs import Json
from tests.unit.protocols.apc.processor.packets import ack, packet, pid, retraction, waiting
from topology.apc import APC_EVENTS, APC_PACKETS

pytestmark = pytest.mark.slow

WAITING = 400
TTL_MS = 5000
SESSIONS = 8
BACKLOG = 4000


def test_answers_that_lay_in_the_log_in_time_count_though_the_worker_was_down(
    environment: Environment,
) -> None:
    first = environment.start("only")
    first.wait_ready(*environment.numbers)
    environment.verdicts([_waiting(n) for n in range(1, WAITING + 1)])
    first.end()
    dues = _dues(environment)

    # The answers lie behind a backlog, so that a due timer would fire long before they are read.
    environment.send([environment.packet(_signal(n)) for n in range(1, BACKLOG + 1)])
    in_time = [n for n in range(1, WAITING + 1) if n % 4]
    positions = environment.send([environment.packet(_answer(n, 10_000)) for n in in_time])
    sent = {f"{r.topic}/{r.partition}/{r.offset}": r for r in environment.records(APC_PACKETS)}
    latest = max(sent[position].timestamp for position in positions)
    assert latest < min(dues.values()), "the machine was too slow for the test"

    environment.until(lambda: time.time() * 1000 > max(dues.values()) + 50, "deadlines are over")
    too_late = [n for n in range(1, WAITING + 1) if n % 8 == 4]
    late = [environment.packet(_answer(n, 20_000)) for n in too_late]
    gone = [n for n in range(1, WAITING + 1) if n % 16 == 8]
    taken = [environment.packet(retraction(30_000 + n, n, session=_session(n))) for n in gone]
    environment.send(late + taken)

    second = environment.start("only", BATCH="20")
    environment.drain()
    second.end()
    run_history = history.read(environment)
    assert checker.check(run_history) == []
    states = {n: run_history.states[f"{_session(n)}/{pid(n)}"] for n in range(1, WAITING + 1)}
    assert {states[n]["state"] for n in in_time} == {"ARCHIVED"}
    assert {states[n]["state"] for n in gone} == {"RETRACTED"}
    remaining = states.keys() - set(in_time) - set(gone)
    assert {(states[n]["state"], states[n]["rule"]) for n in remaining} == {
        ("EXPIRED", "ttl_expired")
    }
    expired = [fact["packet_id"] for _, fact in run_history.facts if fact["rule"] == "ttl_expired"]
    assert sorted(expired) == sorted(pid(n) for n in states.keys() - set(in_time))
    warned = [f for _, f in run_history.facts if "ack_without_effect" in f["warnings"]]
    assert {fact["packet_id"] for fact in warned} == {pid(20_000 + n) for n in too_late}


def _session(n: int) -> str:
    return f"s{n % SESSIONS}"


def _waiting(n: int) -> Json:
    return waiting(n, session=_session(n), to=("a",), ttl_ms=TTL_MS)


def _answer(n: int, base: int) -> Json:
    return ack(base + n, n, "a", session=_session(n))


def _signal(n: int) -> Json:
    return packet("SIGNAL", 100_000 + n, session=_session(n))


def _dues(environment: Environment) -> dict[str, int]:
    facts = environment.values(APC_EVENTS)
    return {fact["packet_id"]: ms(fact["acks"]["deadline_at"]) for fact in facts}
