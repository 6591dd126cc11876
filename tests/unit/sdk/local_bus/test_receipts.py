"""What is said at the door: an Ack or a Nack that names the message."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from streams import Ack, Nack, Transcript
from tests.unit.sdk.local_bus.support import (
    CAPABILITY,
    SESSION,
    id_of,
    open_bus,
    result,
    signal,
    task,
)


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_nack_has_a_reason(reason: str | None) -> None:
    with pytest.raises(ValueError, match="reason"):
        Nack("m", reason=reason)
    assert Nack("m", reason="no").reason == "no"


def test_receipts_are_frozen() -> None:
    for receipt in (Ack("m"), Nack("m", reason="no")):
        with pytest.raises(FrozenInstanceError):
            setattr(receipt, fields(receipt)[0].name, "x")


def test_an_ack_says_that_the_task_is_taken_on_not_that_it_is_done() -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1 / 0)
        receipt = at.bus.dispatch(task())
        assert receipt == Ack(id_of(1), SESSION, rule="accepted")
        assert at.status() == "FAILED"


def test_the_same_again_is_a_duplicate_and_other_content_a_conflict() -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        at.bus.dispatch(task())
        again = at.bus.dispatch(task(taskId=id_of(1).upper()))
        assert isinstance(again, Ack)
        assert (again.rule, again.messageId) == ("duplicate", id_of(1).upper())
        other = at.bus.dispatch(task(payload={}))
        assert isinstance(other, Nack)
        assert (other.rule, other.code) == ("task_id_conflict", "UNPROCESSABLE")


def test_a_nack_lists_what_is_wrong_and_nothing_goes_on() -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        receipt = at.bus.dispatch(task(protocolVersion="1.0", issuedAt="yesterday"))
        assert isinstance(receipt, Nack)
        assert (receipt.code, receipt.rule) == ("INVALID_TASK", "bad_timestamp")
        assert [(e.rule, e.path) for e in receipt.errors] == [
            ("bad_timestamp", "/issuedAt"),
            ("bad_version", "/protocolVersion"),
        ]
        assert at.kinds() == ["task", "ack"]
        assert at.bus.task(id_of(1)) is None


@pytest.mark.parametrize("sent", ["not-a-uuid", "ABC"])
def test_the_message_is_named_as_the_sender_did(sent: str) -> None:
    with open_bus() as at:
        receipt = at.bus.dispatch(task(taskId=sent))
        assert (receipt.messageId, receipt.rule) == (sent, "bad_uuid")
        assert [(e["taskId"], e["correlationId"]) for e in at.entries] == [(None, SESSION)] * 2


@pytest.mark.parametrize(
    "envelope", [{}, None, 3, [], "text", {"taskId": 4}, {1: 2}, {"x": {1, 2}}]
)
def test_what_has_no_usable_id_gets_one(envelope: Any) -> None:
    with open_bus() as at:
        receipts = [at.bus.dispatch(envelope), at.bus.report(envelope), at.bus.signal(envelope)]
        assert all(isinstance(receipt, Nack) for receipt in receipts)
        ids = {str(UUID(receipt.messageId)) for receipt in receipts}
        assert len(ids) == 3
        assert at.kinds() == ["task", "ack", "result", "ack", "signal", "ack"]


@pytest.mark.parametrize(
    "payload", [{"x": float("nan")}, {"x": "\ud800"}, {"x": 2**60}, {"x": {1: 1}}, {"x": b"b"}]
)
def test_what_is_no_json_is_refused_and_recorded(payload: Any) -> None:
    with open_bus() as at:
        receipt = at.bus.dispatch(task(payload=payload))
        assert isinstance(receipt, Nack)
        assert receipt.rule in ("bad_json", "bad_type")
        assert at.kinds() == ["task", "ack"]


@pytest.mark.parametrize("depth", [60, 70, 250, 400, 5000])
def test_what_is_nested_too_deeply_is_refused_and_recorded(depth: int, tmp_path: Path) -> None:
    nested: Any = 1
    for _ in range(depth):
        nested = [nested]
    with open_bus(transcript=tmp_path / "t") as at:
        receipt = at.bus.dispatch(task(payload={"x": nested}))
        assert receipt.rule == ("no_handler" if depth <= 61 else "bad_json")
        assert Transcript.verify(tmp_path / "t").ok


def test_results_and_signals_get_receipts_too() -> None:
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        unknown = at.bus.report(result())
        assert isinstance(unknown, Nack)
        assert (unknown.rule, unknown.code) == ("unknown_task", "NOT_FOUND")
        at.bus.dispatch(task())
        assert at.bus.report(result(status="RUNNING")).rule == "accepted"
        early = at.bus.signal(signal(7, "rating", rating=5))
        assert isinstance(early, Nack)
        assert (early.rule, early.messageId) == ("signal_too_early", id_of(7, "5"))
        cancelled = at.bus.signal(signal(8, "cancel"))
        assert isinstance(cancelled, Ack)
        assert at.status() == "CANCELLED"
        assert at.bus.report(result()).rule == "task_closed"


def test_a_rate_limit_says_when_to_come_again() -> None:
    with open_bus(sap_rate=1, sap_burst=1) as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        assert isinstance(at.bus.dispatch(task(1)), Ack)
        at.now += 400
        receipt = at.bus.dispatch(task(2))
        assert isinstance(receipt, Nack)
        assert (receipt.rule, receipt.code, receipt.retryAfterMs) == (
            "rate_limited",
            "RATE_LIMIT",
            600,
        )
