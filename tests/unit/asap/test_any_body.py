"""Whatever is posted, the answer is one of JSON-RPC (ASAP guide, 6.2, 7)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.asap.registry import create_default_registry
from streams.asap.server import Reply, Server
from tests.examples import example_count
from tests.unit.asap.support import (
    MESSAGES,
    PAYLOADS,
    Json,
    call,
    envelope_json,
    manifest,
)

SERVER = Server(manifest(), create_default_registry())
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["\ud800", "2.0", "asap.send", "TaskRequest", "urn:asap:agent:a", 2**70])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


def post_body(body: bytes) -> Reply:
    reply = asyncio.run(SERVER.answer(body, {}))
    response = json.loads(reply.text())
    assert response["jsonrpc"] == "2.0"
    assert ("result" in response) != ("error" in response)
    if "error" in response:
        error = response["error"]
        assert MESSAGES[error["code"]] == error["message"]
        assert isinstance(error["data"]["error"], str)
        wants = "asap_error" in error["data"]
        assert wants or error["code"] in (-32700, -32601)
    return reply


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Of all members of a value, itself included."""
    members: Any = ()
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
    return [at, *(place for key, inner in members for place in places(inner, (*at, key)))]


def changed(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = changed(value[at[0]], at[1:], new)
    return copy


GOOD: Json = call(envelope_json(correlation_id="c"), idempotency_key="k")


@settings(max_examples=example_count(300), deadline=None)
@given(st.sampled_from(places(GOOD)), VALUES)
def test_a_request_with_one_member_changed(at: tuple[Any, ...], new: Any) -> None:
    post_body(json.dumps(changed(GOOD, at, new)).encode())


@settings(max_examples=example_count(200), deadline=None)
@given(st.sampled_from(places(GOOD)[1:]), st.data())
def test_a_request_with_a_member_more(at: tuple[Any, ...], data: st.DataObject) -> None:
    value = GOOD
    for key in at:
        value = value[key]
    if isinstance(value, dict):
        more = {**value, data.draw(st.text()): data.draw(VALUES)}
        post_body(json.dumps(changed(GOOD, at, more)).encode())


@settings(max_examples=example_count(200), deadline=None)
@given(st.binary() | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes(body: bytes) -> None:
    post_body(body)


@settings(max_examples=example_count(200), deadline=None)
@given(st.sampled_from(sorted(PAYLOADS)), VALUES)
def test_any_payload(name: str, payload: Any) -> None:
    post_body(json.dumps(call(envelope_json(name, payload=payload))).encode())


@given(st.integers(1, 400))
def test_what_is_nested_too_deep(depth: int) -> None:
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    body = json.dumps(call(envelope_json(payload={"here": 1}))).replace('{"here": 1}', "@")
    post_body(body.encode().replace(b"@", nested))
