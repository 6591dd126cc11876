"""Packets that are odd and legal: texts, times and headers that few would send."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from schemas.formats import MAX_ID
from streams.engine.records import Output
from tests.e2e import checker, history
from tests.e2e.environment import Environment
from tests.e2e.outputs import Json
from tests.unit.protocols.apc.processor.packets import packet, waiting

pytestmark = pytest.mark.slow

HEADERS: tuple[list[tuple[str, bytes | None]], ...] = (
    [("traceparent", None)],
    [("traceparent", b"\xff\x00")],
    [("traceparent", random.Random(1).randbytes(200_000).hex().encode())],
    [("own", None), ("own", b"2"), ("", b"")],
)
TIMES = (
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999999999Z",
    "2000-02-29T00:00:00.123456789+14:00",
)
SESSIONS = ("a\0b", "x" * MAX_ID, "%2F/", "\u2028🙂", "a\nb", " ")
AGENTS = ("a/b", "%", "\0", "🙂" * 10, "x" * MAX_ID)


def odd(environment: Environment) -> list[Output]:
    made: list[tuple[Json, Any]] = [
        (_waits(number), header) for number, header in enumerate(HEADERS)
    ]
    for expires_at in TIMES:
        made.append((packet("IDEA", len(made), expires_at=expires_at), ()))
        made.append((_waits(len(made), expires_at=expires_at), ()))
    for session in SESSIONS:
        made.append((_waits(len(made), session=session, to=AGENTS), ()))
    return [environment.packet(one, headers=headers) for one, headers in made]


def _waits(number: int, **members: Any) -> Json:
    return waiting(number, ttl_ms=3000, ack_timeout_ms=200, retry_limit=1, **members)


def test_odd_packets_live_like_any_other(environment: Environment) -> None:
    environment.start("only").wait_ready(*environment.numbers)
    answers = environment.await_answers(environment.send(odd(environment)))
    assert {(kind, fact["verdict"]) for kind, fact in answers} == {("fact", "accepted")}
    environment.drain()
    run_history = history.read(environment)
    assert checker.check(run_history) == []
    rules = Counter(fact["rule"] for _, fact in run_history.facts)
    assert rules["redelivered"] == rules["ack_timeout"] == len(HEADERS) + 1 + len(SESSIONS)
