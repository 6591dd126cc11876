"""Replies in the form of JSON-RPC responses (Summit guide, 2.8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import summit
from schemas.summit.words import RESERVED_CODES
from streams.errors import InvalidInput
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from streams.settings import Settings
from tests.unit.schemas import examples

Json = dict[str, Any]
REPLY = examples.valid("summit/replies")["seed"]
SPENT = {name: REPLY[name] for name in ("metrics", "provenance")}
RESULT = {name: REPLY[name] for name in ("status", "output", "metrics", "provenance")}
NAMES = {"runId": "run-12345", "agentId": "deep-researcher"}
WHOLE: Json = {"jsonrpc": "2.0", "id": 1, **NAMES, "result": RESULT}
NOW_MS = 1_767_225_600_000


def sent(value: Any) -> Json:
    """Return the reply that an edge makes of a value.  Raises InvalidInput."""
    edge = ingress_topic_of("summit.replies")
    to_output(edge, value, NOW_MS, Settings())
    reply: Json = edge.kind.prepare(value, NOW_MS).value
    return reply


def response(**members: Any) -> Json:
    """Return a response with other members, without those that are None."""
    return {name: value for name, value in {**WHOLE, **members}.items() if value is not None}


def test_the_response_of_the_draft_is_a_result() -> None:
    assert sent(WHOLE) == {"replyId": "rpc", **NAMES, "kind": "result", **RESULT}


@pytest.mark.parametrize("id", ["q-1", 7, None, 1.5])
def test_the_id_is_not_compared(id: Any) -> None:
    assert sent({**WHOLE, "id": id}) == sent(WHOLE)


def test_a_result_without_a_status_is_completed() -> None:
    result = {name: value for name, value in RESULT.items() if name != "status"}
    assert sent(response(result=result))["kind"] == "result"


@pytest.mark.parametrize("status", ["failed", "budget_exceeded"])
def test_another_status_is_an_error(status: str) -> None:
    error = {"code": 7, "message": "The model is away."}
    reply = sent(response(result={"status": status, "error": error, **SPENT}))
    assert (reply["kind"], reply["status"], reply["error"]) == ("error", status, error)


def test_an_error_takes_metrics_and_provenance_from_its_data() -> None:
    error = {"code": 7, "message": "No.", "data": {"retry": True, **SPENT}}
    reply = sent(response(result=None, error=error))
    assert reply == {
        "replyId": "rpc",
        **NAMES,
        "kind": "error",
        "status": "failed",
        **SPENT,
        "error": {"code": 7, "message": "No.", "data": {"retry": True}},
    }


def test_data_that_had_nothing_else_is_left_out() -> None:
    reply = sent(response(result=None, error={"code": 7, "message": "No.", "data": SPENT}))
    assert reply["error"] == {"code": 7, "message": "No."}


@given(
    st.integers(-33_000, -31_000) | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.text(max_size=5) | st.dictionaries(st.sampled_from("ab"), st.integers(0, 9)),
)
def test_a_reserved_code_becomes_1_and_is_kept_in_the_data(code: int, data: Any) -> None:
    error = {"code": code, "message": "No.", "data": data}
    reply = summit.as_reply(response(result=None, error=error))
    if code in RESERVED_CODES:
        members = data if isinstance(data, dict) else {"data": data}
        assert reply["error"] == {**error, "code": 1, "data": {**members, "rpc_code": code}}
    else:
        assert reply["error"] == error


def test_so_does_that_of_a_result_that_failed() -> None:
    error = {"code": -32012, "message": "No."}
    reply = sent(response(result={"status": "failed", "error": error, **SPENT}))
    assert reply["error"] == {"code": 1, "message": "No.", "data": {"rpc_code": -32012}}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (response(runId=None), "/runId"),
        (response(agentId=None), "/agentId"),
        ({name: member for name, member in WHOLE.items() if name != "id"}, "/id"),
        ({**WHOLE, "jsonrpc": "1.0"}, "/jsonrpc"),
        ({**WHOLE, "replyId": "final"}, "/replyId"),
        (response(result=None), ""),
        (response(error={"code": 1, "message": "No."}), ""),
        (response(result="done"), "/result"),
        (response(result={**RESULT, "runId": "run-2"}), "/result/runId"),
        (response(result=None, error=["No."]), "/error"),
        (response(result=None, error={"code": 1, "message": "No.", "kind": "x"}), "/error/kind"),
        (response(runId="run/1"), "/runId"),
    ],
)
def test_what_cannot_be_a_reply_is_refused_by_its_shape(value: Json, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        sent(value)
    (problem,) = refused.value.problems
    assert (problem.rule, problem.path) == ("reply.shape", path)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (response(result=None, error={"code": 1, "message": "No."}), "metrics.missing"),
        (response(result={**RESULT, "status": "cancelled", "error": {}}), "reply.shape"),
        (response(result={**SPENT, "status": "asleep"}), "status.value"),
        (response(result={**RESULT, "metrics": {"tokens": -1, "cost_usd": 0}}), "metrics.value"),
        (response(result=None, error={"code": "x", "data": SPENT}), "error.value"),
    ],
)
def test_what_it_becomes_is_checked_as_any_reply(value: Json, rule: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        sent(value)
    assert refused.value.problems[0].rule == rule


def test_a_name_of_its_own_stands() -> None:
    assert summit.address_reply(WHOLE, "run-2", "other") == WHOLE


def test_a_plain_reply_is_not_addressed() -> None:
    assert summit.address_reply({"kind": "result"}, "run-2", "other") == {"kind": "result"}
