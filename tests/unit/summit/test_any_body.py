"""Whatever is posted, the answer is JSON-RPC, and no fault of the service (Summit guide, 6.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import ShapeError
from schemas.summit import read_json, rules
from streams.api.query_side import PlayContext
from streams.asap.blocking import run_without_loop
from streams.engine.records import Output, Record
from streams.gateway.http_response import dump_json
from streams.protocols.summit.scenario import PlayHost
from streams.summit.rpc import POSITIONS, Server
from streams.summit.rpc.errors import NAMES
from streams.summit.rpc.server import Reply
from tests.examples import example_count
from tests.unit.protocols.summit.queries import stage
from tests.unit.protocols.summit.queries.stage import Json
from tests.unit.views.bench import Bench

MOST = 9
"""Requests in a batch."""
LOGGED: tuple[Json, ...] = (
    stage.invoke("r-1"),
    stage.invoke(),
    stage.tool_call(),
    stage.cancel("r-1", reason="enough"),
)
QUERIES: tuple[Json, ...] = (
    stage.query("agent.status", runId=stage.RUN),
    stage.query("agent.status", agentId=stage.AGENT, after="summit.calls/0/0"),
    stage.query("agent.schema", agentId=stage.AGENT, version="1.2.0"),
    stage.query("agent.list", role="x-text", capability="text:count", limit=1, cursor="a"),
    stage.query("tool.list", agentId=stage.AGENT, dialect="mcp"),
)
GOOD = (*LOGGED, *QUERIES)
NOTIFICATION: Json = {"jsonrpc": "2.0", "method": "agent.cancel", "params": {"runId": "r-1"}}
IDS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.just("i" * 257)
    | st.just([])
)
LEAVES = IDS | st.sampled_from(["\ud800", "2.0", "agent.cancel", stage.RUN, stage.AGENT, 2**70])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


class World:
    """The service in memory; an agent is there, and a run that it has completed."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder, partitions=1, summit_batch_max=MOST)
        self.appended = 0
        bench = self.bench
        context = PlayContext(
            bench.settings, bench.view, bench.tick, self._append, lambda: "unused", self._partitions
        )
        self.server = Server(PlayHost(context))
        stage.registered(bench)
        bench.send(stage.CALLS, stage.invoke())
        bench.send(stage.REPLIES, stage.result())

    def _append(self, outputs: Sequence[Output]) -> list[Record]:
        self.appended += len(outputs)
        self.bench.tick()
        records = self.bench.log.append(outputs)
        self.bench.host.run()
        return list(records)

    def _partitions(self) -> dict[str, int]:
        return {topic.name: topic.partitions for topic in self.bench.log.topics().values()}

    def post(self, body: bytes) -> Reply:
        before = self.appended
        reply = run_without_loop(self.server.answer(body, {}))
        positions = [each for each in reply.headers.get(POSITIONS, "").split(",") if each]
        assert len(set(positions)) == self.appended - before
        return reply


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("world"))
    yield world
    world.bench.close()


def post_body(world: World, body: bytes) -> list[Json]:
    """One for each request in the body that wants one, with its id."""
    reply = world.post(body)
    expected_ids, several = ids(body)
    if not expected_ids:
        assert (reply.status, reply.body) == (204, None)
        return []
    assert reply.status == 200
    parsed = json.loads(dump_json(reply.body))
    assert isinstance(parsed, list) == several
    answers: list[Json] = parsed if several else [parsed]
    assert [repr(answer["id"]) for answer in answers] == [repr(id) for id in expected_ids]
    for answer in answers:
        check(answer)
    return answers


def ids(body: bytes) -> tuple[list[Any], bool]:
    """The ids of the answers wanted, and whether these come in an array."""
    try:
        value = read_json(body)
    except ShapeError:
        return [None], False
    if not isinstance(value, list):
        return wanted_by(value), False
    if not 1 <= len(value) <= MOST:
        return [None], False
    return [id for each in value for id in wanted_by(each)], True


def wanted_by(request: Any) -> list[Any]:
    """The id of its answer; nothing for a notification, which is fit but for its params."""
    if not isinstance(request, dict):
        return [None]
    listed = set(request) <= {"jsonrpc", "method", "params", "caller", "delivery"}
    if request.get("method") == "agent.cancel" and listed and request.get("jsonrpc") == "2.0":
        return []
    id = request.get("id")
    if isinstance(id, str):
        return [id if len(id) <= 256 else None]
    if isinstance(id, bool) or not isinstance(id, int | float):
        return [None]
    return [id if id == int(id) and abs(id) < 2**53 else None]


def check(answer: Json) -> None:
    """What an answer may be; the service never fails by what is sent to it."""
    kind = "error" if "error" in answer else "result"
    assert set(answer) == {"jsonrpc", "id", kind}
    assert answer["jsonrpc"] == "2.0"
    if kind == "result":
        assert answer["id"] is not None
        assert isinstance(answer["result"], dict)
        return
    error = answer["error"]
    assert set(error) == {"code", "message", "data"}
    assert error["code"] != rules.INTERNAL_ERROR, answer
    assert error["code"] == rules.RPC[error["data"]["rule"]]
    assert error["message"].split(": ")[0] == NAMES[error["code"]]
    assert set(error["data"]) <= {"rule", "path", "errors", "runId", "status", "position", "poll"}


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


@st.composite
def requests(draw: st.DrawFn) -> Any:
    """Good ones, those with one member changed, more or less, and notifications."""
    request = draw(st.sampled_from((*GOOD, NOTIFICATION)))
    match draw(st.integers(0, 4)):
        case 0:
            return changed(request, draw(st.sampled_from(places(request))), draw(VALUES))
        case 1:
            return {**request, draw(st.text()): draw(VALUES)}
        case 2:
            left = draw(st.sampled_from(sorted(request)))
            return {name: request[name] for name in request if name != left}
        case 3:
            return {**request, "id": draw(IDS)}
    return request


def test_each_good_request_has_what_it_asks_for(world: World) -> None:
    for request in GOOD:
        (answer,) = post_body(world, json.dumps(request).encode())
        pending = answer.get("error", {}).get("data", {}).get("rule") == rules.RUN_PENDING.code
        bad_cursor = request["params"].get("cursor") == "a"
        assert "result" in answer or pending or bad_cursor, answer


@settings(max_examples=example_count(300), deadline=None)
@given(request=requests())
def test_one_request(world: World, request: Any) -> None:
    post_body(world, json.dumps(request).encode())


@settings(max_examples=example_count(200), deadline=None)
@given(batch=st.lists(requests() | VALUES, max_size=MOST + 1))
def test_a_batch(world: World, batch: list[Any]) -> None:
    post_body(world, json.dumps(batch).encode())


@settings(max_examples=example_count(100), deadline=None)
@given(batch=st.lists(st.sampled_from((*GOOD, NOTIFICATION)), min_size=1, max_size=MOST))
def test_a_good_batch_is_answered_in_its_order(world: World, batch: list[Json]) -> None:
    numbered = [{**each, "id": n} if "id" in each else each for n, each in enumerate(batch)]
    answers = post_body(world, json.dumps(numbered).encode())
    for answer in answers:
        alone = world.post(json.dumps(numbered[answer["id"]]).encode()).body
        assert set(answer) == set(alone) or numbered[answer["id"]] not in QUERIES


@settings(max_examples=example_count(100), deadline=None)
@given(ids=st.lists(IDS, min_size=1, max_size=MOST))
def test_any_ids(world: World, ids: list[Any]) -> None:
    post_body(world, json.dumps([{**QUERIES[0], "id": id} for id in ids]).encode())


@settings(max_examples=example_count(100), deadline=None)
@given(params=st.lists(VALUES, min_size=1, max_size=MOST))
def test_notifications_are_not_answered(world: World, params: list[Any]) -> None:
    body = json.dumps([{**NOTIFICATION, "params": each} for each in params]).encode()
    if ids(body) != ([None], False):  # it is I-JSON
        assert post_body(world, body) == []


@settings(max_examples=example_count(200), deadline=None)
@given(body=st.binary() | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes(world: World, body: bytes) -> None:
    post_body(world, body)


@settings(deadline=None)
@given(depth=st.integers(1, 400))
def test_what_is_nested_too_deep(world: World, depth: int) -> None:
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    body = json.dumps([stage.invoke("r-2", inputs={"here": 1}), *QUERIES[:1]])
    answers = post_body(world, body.replace('{"here": 1}', "@").encode().replace(b"@", nested))
    rule = answers[0].get("error", {}).get("data", {}).get("rule")
    assert (rule == rules.JSON_INVALID.code) == (depth > 62)  # the inputs are at the third level
    assert "result" in answers[1]


def test_a_member_that_is_there_twice(world: World) -> None:
    text = json.dumps(QUERIES[0]).encode()
    (answer,) = post_body(world, text[:-1] + b', "id": 2}')
    assert answer["error"]["data"]["rule"] == rules.JSON_INVALID.code
