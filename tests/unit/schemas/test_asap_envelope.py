"""The envelope, and making replies (ASAP guide, 2.4 and 2.7)."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from schemas import asap
from schemas.asap import Envelope, MalformedEnvelopeError, make_envelope, reply_to
from tests.unit.schemas import examples
from tests.unit.schemas.asap_tables import BAD, GOOD, PAYLOADS
from tests.unit.schemas.asap_tables import example as payload_of
from tests.unit.schemas.test_asap_models import model, spellings

REQUEST = examples.valid("asap")["task_request"]
ANSWERS = ("TaskResponse", "McpToolResult", "McpResourceData")
SENDER, RECIPIENT = REQUEST["sender"], REQUEST["recipient"]


def envelope(**members: Any) -> Envelope:
    """Of the example; `...` takes a member out."""
    fields = {**REQUEST, **members}
    return Envelope.model_validate({k: v for k, v in fields.items() if v is not ...})


@pytest.mark.parametrize("name", ["asap_version", "sender", "recipient", "payload_type", "payload"])
def test_members_without_default_are_required(name: str) -> None:
    for missing in (..., None):
        with pytest.raises(ValidationError):
            envelope(**{name: missing})


@pytest.mark.parametrize("missing", [..., None])
def test_id_and_timestamp_are_made_where_they_are_absent_or_null(missing: Any) -> None:
    before = datetime.now(UTC)
    made = envelope(id=missing, timestamp=missing)
    assert len(made.id) == 26
    assert before <= made.timestamp <= datetime.now(UTC)
    assert made.timestamp.utcoffset() == timedelta(0)
    assert envelope(id="").id == ""


@pytest.mark.parametrize("name", ["sender", "recipient"])
def test_sender_and_recipient_are_agent_urns(name: str) -> None:
    for good in GOOD["urn"]:
        assert getattr(envelope(**{name: good}), name) == good
    for bad in BAD["urn"]:
        with pytest.raises(ValidationError):
            envelope(**{name: bad})


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("id", 1),
        ("asap_version", 0.1),
        ("timestamp", "soon"),
        ("payload_type", 1),
        ("payload", []),
        ("payload", "x"),
        ("correlation_id", 1),
        ("trace_id", []),
        ("extensions", []),
        ("more", 1),
    ],
)
def test_members_of_other_types_are_refused(name: str, bad: Any) -> None:
    with pytest.raises(ValidationError):
        envelope(**{name: bad})


def test_an_unknown_payload_type_is_kept() -> None:
    made = envelope(payload_type="Task/Pause", payload={"payload_type": 1})
    assert made.model_dump()["payload_type"] == "Task/Pause"
    assert made.canonical_type is None
    with pytest.raises(MalformedEnvelopeError):
        made.typed_payload()


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name in PAYLOADS for text in spellings(name)]
)
def test_a_known_one_keeps_its_spelling_and_has_its_name(name: str, text: str) -> None:
    made = envelope(payload_type=text, payload=payload_of(name), correlation_id="c")
    assert made.payload_type == made.model_dump(mode="json")["payload_type"] == text
    assert made.canonical_type == name
    assert made.typed_payload() == model(name).model_validate(payload_of(name))


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("empty", [None, ""])
def test_answers_say_what_they_answer(name: str, empty: str | None) -> None:
    for text in spellings(name):
        fields: dict[str, Any] = {"payload_type": text, "payload": {}, "correlation_id": empty}
        if name in ANSWERS:
            with pytest.raises(ValidationError, match="must have correlation_id"):
                envelope(**fields)
        else:
            assert envelope(**fields).correlation_id == empty


def test_the_payloads_own_type_agrees_and_is_not_sent() -> None:
    made = envelope(payload={**REQUEST["payload"], "payload_type": "task_request"})
    assert made.payload["payload_type"] == "task_request"
    for dump in (made.model_dump(), made.model_dump(mode="json")):
        assert "payload_type" not in dump["payload"]
    assert '"payload":{"conversation_id"' in made.model_dump_json()
    for other in ("TaskUpdate", "TaskPause", "", None, 1):
        with pytest.raises(ValidationError, match="payload_type_mismatch"):
            envelope(payload={**REQUEST["payload"], "payload_type": other})


@pytest.mark.parametrize("name", PAYLOADS)
def test_payload_models_are_taken_as_objects(name: str) -> None:
    payload = model(name).model_validate(payload_of(name))
    made = envelope(payload_type=name, payload=payload, correlation_id="c")
    assert made.payload == payload.model_dump(mode="json")
    assert made.typed_payload() == payload
    assert Envelope.model_validate_json(made.model_dump_json()).typed_payload() == payload


def test_numbers_that_are_not_finite_do_not_turn_into_null() -> None:
    request = asap.TaskRequest(conversation_id="c", skill_id="s", input={"a": math.inf})
    made = make_envelope(request, sender=SENDER, recipient=RECIPIENT)
    assert made.payload["input"] == {"a": math.inf}
    with pytest.raises(MalformedEnvelopeError, match="no canonical JSON"):
        asap.envelope_hash(made)


def test_the_payload_is_not_read_before_it_is_asked_for() -> None:
    made = envelope(payload={"anything": 1})
    with pytest.raises(MalformedEnvelopeError) as caught:
        made.typed_payload()
    paths = [problem["path"] for problem in caught.value.details["validation_errors"]]
    assert paths == [
        "/payload/conversation_id",
        "/payload/skill_id",
        "/payload/input",
        "/payload/anything",
    ]


def test_an_envelope_is_frozen_and_shows_all_ten_members() -> None:
    made = envelope(trace_id=...)
    member = "id"
    with pytest.raises(ValidationError, match="frozen"):
        setattr(made, member, "x")
    assert set(made.model_dump()) == set(REQUEST)
    assert made.model_dump(mode="json")["trace_id"] is None


def test_an_envelope_is_made_around_a_payload() -> None:
    cancel = asap.TaskCancel(task_id="t")
    made = make_envelope(cancel, sender=SENDER, recipient=RECIPIENT, trace_id="tr", id="e")
    assert made.model_dump(mode="json", exclude={"timestamp"}) == {
        "id": "e",
        "asap_version": "0.1",
        "sender": SENDER,
        "recipient": RECIPIENT,
        "payload_type": "TaskCancel",
        "payload": {"task_id": "t", "reason": None},
        "correlation_id": None,
        "trace_id": "tr",
        "extensions": None,
    }
    with pytest.raises(ValidationError):
        make_envelope(cancel, sender="me", recipient=RECIPIENT)


@pytest.mark.parametrize(
    ("request_type", "reply_type"),
    [
        ("TaskRequest", "TaskUpdate"),
        ("task.request", "task.update"),
        ("task_request", "task_update"),
        ("task-request", "task-update"),
        ("TASKREQUEST", "TaskUpdate"),
    ],
)
def test_a_reply_goes_back_with_the_trace_in_the_same_style(
    request_type: str, reply_type: str
) -> None:
    update = asap.TaskUpdate(
        task_id="t",
        update_type=asap.UpdateType.PROGRESS,
        status=asap.TaskStatus.WORKING,
    )
    request = envelope(payload_type=request_type, asap_version="0.1.7")
    reply = reply_to(request, update, extensions={"org.example.a": 1})
    assert (reply.sender, reply.recipient) == (RECIPIENT, SENDER)
    assert (reply.correlation_id, reply.trace_id) == (request.id, request.trace_id)
    assert (reply.asap_version, reply.payload_type) == ("0.1.7", reply_type)
    assert reply.typed_payload() == update
    assert reply.extensions == {"org.example.a": 1}
    assert reply_to(request, update, sender="urn:asap:agent:x").sender == "urn:asap:agent:x"
