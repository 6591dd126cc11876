"""Messages on their way to a call and back: what was sent stands in the history."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from a2a.types import a2a_pb2
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given
from hypothesis import strategies as st

from schemas import canonical_json, from_json, summit, to_json
from streams.access import Role
from streams.access.callers import Caller
from streams.doors.a2a.calls import make_call
from streams.doors.a2a.cards import make_card
from streams.doors.a2a.mapping import mapping_of
from streams.doors.a2a.requests import read_request
from streams.doors.a2a.tasks import user_message
from streams.settings import Settings
from tests.unit.protocols.summit.queries.stage import manifest
from topology.summit import SUMMIT_CALLS

Json = dict[str, Any]
CALLER = Caller("desk-7", frozenset({Role.PRODUCER}))
MANIFESTS = files("schemas").joinpath("examples", "summit", "manifests")
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
LEAVES = TEXT | st.booleans() | st.none() | st.integers(-(2**53) + 1, 2**53 - 1) | st.just(0.25)
OPEN = st.dictionaries(
    TEXT,
    st.recursive(
        LEAVES, lambda each: st.lists(each, max_size=3) | st.dictionaries(TEXT, each, max_size=3)
    ),
    max_size=3,
)
PARTS = st.lists(TEXT.map(lambda text: {"text": text}), min_size=1, max_size=3)
MESSAGES = st.fixed_dictionaries(
    {"messageId": TEXT.filter(bool), "role": st.just("ROLE_USER"), "parts": PARTS},
    optional={
        "metadata": OPEN,
        "contextId": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,20}", fullmatch=True),
        "extensions": st.lists(TEXT.filter(bool), min_size=1, max_size=2),
        "referenceTaskIds": st.lists(TEXT.filter(bool), min_size=1, max_size=2),
    },
)


def on_the_log(call: Json) -> Json:
    """Return a call as it comes back from its record."""
    record = SUMMIT_CALLS.record or ""
    value: Json = to_json(record, from_json(record, call))
    return value


@given(MESSAGES, st.none() | OPEN)
def test_message_comes_back(message: Json, metadata: Json | None) -> None:
    """Check that the history has the message that was sent, with the ids of its task."""
    request = (
        {"message": message} if metadata is None else {"message": message, "metadata": metadata}
    )
    parsed = read_request(request, a2a_pb2.SendMessageRequest())
    call = make_call(parsed, "word-stats", mapping_of(manifest()), CALLER)
    assert summit.check_call(call.value) == []
    params = on_the_log(call.value)["params"]
    context = params["context"]
    row = {
        "runId": call.task_id,
        "caller": "desk-7",
        "agentId": "word-stats",
        "traceId": context["traceId"],
        "contextExtra": {"a2a": context["a2a"]},
    }
    returned = user_message(row, {"inputs": params["inputs"]})
    ids = {"taskId": call.task_id, "contextId": message.get("contextId", call.task_id)}
    if len(canonical_json({k: v for k, v in message.items() if k != "contextId"})) <= 4096:
        assert returned == {**message, **ids}
    ParseDict(returned, a2a_pb2.Message())


@given(MESSAGES)
def test_clients_make_the_same_call(message: Json) -> None:
    """Check that a message written by the official client's protobuf makes the same call."""
    mapping = mapping_of(manifest())
    rewritten = MessageToDict(ParseDict({"message": message}, a2a_pb2.SendMessageRequest()))
    hashes = {
        summit.call_hash(
            make_call(
                read_request(request, a2a_pb2.SendMessageRequest()), "word-stats", mapping, CALLER
            ).value
        )
        for request in ({"message": message}, json.loads(json.dumps(rewritten)))
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    "name", sorted(each.name for each in MANIFESTS.iterdir() if each.is_file())
)
def test_card_of_every_example(name: str) -> None:
    """Check that each manifest of the examples has a card that A2A takes."""
    value = summit.load_manifest(MANIFESTS.joinpath(name).read_text()).to_json()
    row = {
        "agentId": value["metadata"]["name"],
        "version": value["metadata"]["version"],
        "manifestHash": summit.manifest_hash(value),
        "manifest": value,
    }
    card = make_card(row, Settings(), "http://localhost")
    validate_proto_required_fields(ParseDict(card, a2a_pb2.AgentCard()))
