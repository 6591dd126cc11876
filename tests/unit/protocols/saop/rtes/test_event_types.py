"""Each type of events has all its parts, and one that lacks a part cannot be declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from schemas.members import Member, is_flag, is_text
from schemas.rtes.event_type import EventPayload, EventType
from schemas.rtes.models import BY_NAME, EVENT_TYPES, NAMES, SandboxPulse, event_type
from streams.protocols.saop.rtes.event_handlers import (
    BY_RECORD,
    HANDLERS,
    EventHandler,
    by_record,
    record_output,
)
from streams.protocols.saop.rtes.masking import MaskingRule

LINE, MASKED, TIME = BY_NAME["SANDBOX_PULSE"].members


class Untyped(EventPayload):
    line: str


class Unrecorded(EventPayload):
    type: Literal["UNRECORDED"]


def test_both_lists_name_the_same_types_in_the_same_order() -> None:
    assert [handler.model for handler in HANDLERS] == [each.model for each in EVENT_TYPES]
    assert list(BY_RECORD) == list(NAMES)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda: event_type(SandboxPulse, LINE, TIME),
            "The checks of SANDBOX_PULSE and its model differ in: masked.",
        ),
        (
            lambda: event_type(SandboxPulse, LINE, MASKED, TIME, Member("tool", is_text)),
            "The checks of SANDBOX_PULSE and its model differ in: tool.",
        ),
        (
            lambda: event_type(Untyped, Member("line", is_text)),
            "Untyped has no member type with a Literal.",
        ),
        (
            lambda: event_type(Unrecorded),
            "UNRECORDED has no Avro record: schemas/avro/rtes/Unrecorded.avsc is missing.",
        ),
        (
            lambda: by_record(HANDLERS[:-1]),
            "ESCALATION_RAISED has no EventHandler in HANDLERS of "
            "streams.protocols.saop.rtes.event_handlers.",
        ),
        (
            lambda: by_record(
                (
                    *HANDLERS,
                    EventHandler(model=Unrecorded, masking=MaskingRule(), decide=record_output),
                )
            ),
            "Unrecorded has an EventHandler and is not in EVENT_TYPES of schemas.rtes.models.",
        ),
    ],
)
def test_a_part_that_is_missing_is_named(declare: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        declare()
    assert str(raised.value) == message


def test_a_record_whose_fields_are_not_those_of_the_model_is_refused() -> None:
    class SandboxPulse(EventPayload):  # the Avro record of this name has a timestamp
        type: Literal["SANDBOX_PULSE"]
        line: str
        masked: bool

    expected = "The fields of the Avro record of SANDBOX_PULSE and its model differ in: timestamp."
    with pytest.raises(TypeError) as raised:
        EventType(SandboxPulse, (Member("line", is_text), Member("masked", is_flag)), {})
    assert str(raised.value) == expected


def test_a_handler_says_how_its_events_are_masked() -> None:
    parts: dict[str, Any] = {"model": SandboxPulse, "decide": record_output}
    with pytest.raises(TypeError, match="'masking'"):
        EventHandler(**parts)
