"""Messages as calls: the inputs, the ids and the context that they make."""

from __future__ import annotations

from typing import Any

import pytest
from a2a.types import a2a_pb2

from schemas import summit
from streams.access import Role
from streams.access.callers import Caller
from streams.doors.a2a.calls import make_call, make_cancel, task_id_of
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.mapping import AgentMapping, mapping_of
from streams.doors.a2a.requests import read_query, read_request
from tests.unit.doors.a2a.bench import EXT, message, sending
from tests.unit.protocols.summit.queries.stage import manifest

Json = dict[str, Any]
DESK = Caller("desk-7", frozenset({Role.PRODUCER}))
OPS = Caller("ops", frozenset({Role.OPERATOR}))
WORDS = mapping_of(manifest())
ONLY_DATA = AgentMapping(takes_message=False, text_input=None, text_output=None)
TASK = "02d866f5-abd4-5e91-8dac-1d4c791091ac"


def call_of(request: Json, mapping: AgentMapping = WORDS, caller: Caller | None = DESK) -> Json:
    parsed = read_request(request, a2a_pb2.SendMessageRequest())
    value: Json = make_call(parsed, "word-stats", mapping, caller).value
    assert summit.check_call(value) == []
    return value


def refused(request: Any, mapping: AgentMapping = WORDS) -> A2aError:
    with pytest.raises(A2aError) as caught:
        call_of(request, mapping)
    return caught.value


def inputs_of(*parts: Json, mapping: AgentMapping = WORDS) -> Json:
    inputs: Json = call_of(sending(parts=list(parts)), mapping)["params"]["inputs"]
    return inputs


def test_call_of_the_specification() -> None:
    """Check the run, the trace and the hash of the message that the specification prints."""
    call = call_of(sending(budget={"usd": 0.25}))
    assert call["params"]["runId"] == call["params"]["context"]["traceId"] == TASK
    assert summit.call_hash(call) == (
        "761ff850622d16fc4db06863b7d275b037cbd6ea854b094da2eeb5af1f32a4da"
    )


def test_task_of_a_caller_without_token() -> None:
    """Check that without tokens the same message makes another task."""
    assert task_id_of(None, "word-stats", "m-1") == "adaa3e69-07a4-506f-9423-e7166b1f2f47"


@pytest.mark.parametrize("others", [("desk-8", "word-stats", "m-1"), ("desk-7", "x", "m-1")])
def test_task_is_of_one_caller_and_agent(others: tuple[str, str, str]) -> None:
    """Check that nobody makes the task of somebody else, whatever messageId they choose."""
    assert task_id_of(*others) != TASK
    assert task_id_of("a/b", "c", "d") != task_id_of("a", "b/c", "d")


def test_texts_are_joined() -> None:
    """Parts with text become one text, beside the data."""
    parts = {"text": "to be"}, {"data": {"top": 1}}, {"text": "or not"}
    assert inputs_of(*parts) == {"top": 1, "text": "to be\nor not"}


def test_message_as_the_input() -> None:
    """Check that an agent that takes messages gets all parts, without ids of tasks and contexts."""
    mapping = mapping_of({**manifest(), "metadata": {"a2a": {"input": "message"}}})
    sent = message(parts=[{"url": "https://a.example/f"}], contextId="c-1", taskId=TASK)
    call = call_of({"message": sent}, mapping)
    expected = {k: v for k, v in sent.items() if k not in ("contextId", "taskId")}
    assert call["params"]["inputs"] == {"message": expected}
    assert call["params"]["context"]["a2a"] == {"messageId": "m-1"}


def test_numbers_keep_their_value() -> None:
    """Check that a whole number stays one, and what a client has made a double is the same call."""
    exact = call_of(sending(parts=[{"data": {"text": "a", "top": 2}}]))
    doubled = call_of(sending(parts=[{"data": {"text": "a", "top": 2.0}}]))
    assert summit.call_hash(exact) == summit.call_hash(doubled)
    assert type(exact["params"]["inputs"]["top"]) is int


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ([{"url": "https://a.example/f"}], "a2a.content_type"),
        ([{"raw": "AAAA"}], "a2a.content_type"),
        ([{"data": {"top": 1}}, {"data": {"top": 2}}], "a2a.parts"),
        ([{"data": {}}, {"data": {}}], "a2a.parts"),
        ([{"data": [1]}], "a2a.parts"),
        ([{"data": None}], "a2a.parts"),
        ([{"data": {"text": "a"}}, {"text": "b"}], "a2a.parts"),
        ([{"filename": "f"}], "a2a.parts"),
        ([], "a2a.shape"),
        ([{"text": 1}], "a2a.shape"),
        ([{"text": "a", "data": {}}], "a2a.shape"),
        ("none", "a2a.shape"),
    ],
)
def test_parts_that_make_no_inputs(parts: Any, rule: str) -> None:
    """Parts that the agent does not take are refused by the rule that they break."""
    assert refused(sending(parts=parts)).rule == rule


def test_text_for_an_agent_that_takes_none() -> None:
    """Check that an agent without a property for text takes data only."""
    assert refused(sending(), ONLY_DATA).rule == "a2a.content_type"


@pytest.mark.parametrize(
    ("members", "rule", "path"),
    [
        ({"message_id": ""}, "a2a.message_id", "/message/messageId"),
        ({"message_id": "x" * 257}, "a2a.message_id", "/message/messageId"),
        ({"role": "ROLE_AGENT"}, "a2a.role", "/message/role"),
        ({"role": "ROLE_UNSPECIFIED"}, "a2a.role", "/message/role"),
        ({"role": "ROLE_KING"}, "a2a.shape", "/message/role"),
        ({"contextId": "a b"}, "a2a.context_id", "/message/contextId"),
        ({"parts": [{"data": {"n": 2**53}}]}, "json.invalid", "/message"),
    ],
)
def test_members_that_are_not_allowed(members: Json, rule: str, path: str) -> None:
    """Check that a wrong member is named by its path."""
    error = refused(sending(**members))
    assert (error.rule, error.to_jsonrpc().data[0]["metadata"]["path"]) == (rule, path)


@pytest.mark.parametrize("request_value", [None, [], "x", {}, {"message": 1}])
def test_requests_that_are_none(request_value: Any) -> None:
    """Check that what has not the shape of a request is refused."""
    assert refused(request_value).rule == "a2a.shape"


def test_unknown_and_empty_members_say_nothing() -> None:
    """Members that A2A does not know, null and empty texts make the same call."""
    plain = call_of(sending())
    more: dict[str, Any] = {
        "x": 1,
        "contextId": "",
        "taskId": None,
        "extensions": [],
        "metadata": None,
    }
    assert call_of(sending(**more)) == plain
    named = {"message_id": "m-1", "role": 1, "parts": message()["parts"]}
    assert call_of({"message": named, "tenant": "t", "configuration": {}}) == plain


def test_context_of_a_call() -> None:
    """Budget, parent and context id go where Summit has them, and other metadata is kept."""
    extension = {"budget": {"tokens": 5, "seconds": 1}, "parentTaskId": "p-1"}
    request = {**sending(contextId="c-1"), "metadata": {EXT: extension, "team": "desk"}}
    context = call_of(request)["params"]["context"]
    assert context.pop("a2a") == {"message": message(), "metadata": {"team": "desk"}}
    assert context == {"traceId": "c-1", "parentRunId": "p-1", "budget": extension["budget"]}


@pytest.mark.parametrize("extension", [{"budgets": {}}, [], "usd", {"reason": "r"}])
def test_misspelt_limits_are_refused(extension: Any) -> None:
    """Check that a limit must not vanish because it is misspelt."""
    assert refused({**sending(), "metadata": {EXT: extension}}).rule == "a2a.metadata"


def test_long_message_is_named_only() -> None:
    """Check that of a message above the bound its id is kept."""
    long = call_of(sending(text="x" * 4096))
    assert long["params"]["context"]["a2a"] == {"messageId": "m-1"}


def test_operator_cancels_by_the_shared_name() -> None:
    """Check that an operator cancels the task of another as `operator`, its own in its name."""
    request = {"id": TASK, "metadata": {EXT: {"reason": "enough"}}}
    other, direct = make_cancel(request, "desk-7", OPS), make_cancel(request, "ops", OPS)
    assert (other["caller"], direct["caller"]) == ("operator", "ops")
    assert other["params"] == {"runId": TASK, "reason": "enough"}
    assert "caller" not in make_cancel(request, None, None)


def test_query_of_a_get() -> None:
    """Parameters become members by their types; what is none of A2A's is left out."""
    fields = a2a_pb2.ListTasksRequest.DESCRIPTOR
    query = "pageSize=5&includeArtifacts=true&status=TASK_STATE_WORKING&x=1&after=a"
    value = read_query(query, fields, ("after",))
    assert read_request(value, a2a_pb2.ListTasksRequest()) == {
        "pageSize": 5,
        "includeArtifacts": True,
        "status": "TASK_STATE_WORKING",
    }


@pytest.mark.parametrize(
    "query", ["pageSize=1&pageSize=2", "includeArtifacts=yes", "pageToken=%FF"]
)
def test_query_that_is_refused(query: str) -> None:
    """Check that a parameter that is repeated, or of another type, is refused."""
    with pytest.raises(A2aError) as caught:
        read_query(query, a2a_pb2.ListTasksRequest.DESCRIPTOR, ())
    assert caught.value.rule == "a2a.shape"
