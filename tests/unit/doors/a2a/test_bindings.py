"""The two bindings: envelopes, versions, media types, paths and headers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.doors.a2a.description import ENDPOINTS
from streams.doors.a2a.http_json import split_verb
from streams.doors.a2a.protocol import fits_version
from tests.unit.doors.a2a.bench import EXT, A2aBench, a2a_bench, sending

Json = dict[str, Any]
AGENT, SEND = "/a2a/word-stats", "/a2a/word-stats/message:send"
TASKS = "/a2a/word-stats/tasks"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[A2aBench]:
    with a2a_bench(tmp_path_factory.mktemp("a2a")) as each:
        yield each


def rule_of(error: Json) -> str:
    details = error.get("data") or error["details"]
    rule: str = details[0]["metadata"]["rule"]
    return rule


@pytest.mark.parametrize(
    ("body", "code", "rule"),
    [
        ("{", -32700, "json.parse"),
        ('{"a":1,"a":2}', -32600, "json.invalid"),
        ("[]", -32600, "rpc.batch"),
        ('[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', -32600, "rpc.batch"),
        ("5", -32600, "rpc.shape"),
        ('{"jsonrpc":"2.0","method":"GetTask"}', -32600, "rpc.id_required"),
        ('{"jsonrpc":"2.0","id":null,"method":"GetTask"}', -32600, "rpc.id"),
        ('{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}', -32600, "rpc.id"),
        ('{"jsonrpc":"2.0","id":true,"method":"GetTask"}', -32600, "rpc.id"),
    ],
)
def test_requests_without_a_usable_id(bench: A2aBench, body: str, code: int, rule: str) -> None:
    """Check that what is no request is answered with HTTP 200, an error and no id."""
    response = bench.ask("POST", AGENT, content=body)
    answer = response.json()
    assert (response.status_code, answer["id"]) == (200, None)
    assert (answer["error"]["code"], rule_of(answer["error"])) == (code, rule)


@pytest.mark.parametrize(
    ("members", "code", "rule"),
    [
        ({"jsonrpc": "1.0"}, -32600, "rpc.version"),
        ({"method": "message/send"}, -32601, "rpc.method"),
        ({"method": 5}, -32601, "rpc.method"),
        ({"params": []}, -32602, "a2a.shape"),
        ({"params": None}, -32602, "a2a.shape"),
    ],
)
def test_requests_that_are_refused(bench: A2aBench, members: Json, code: int, rule: str) -> None:
    """Check that the error of a request has its id."""
    request = {"jsonrpc": "2.0", "id": "r-1", "method": "GetTask", **members}
    answer = bench.ask("POST", f"{AGENT}/", json=request).json()
    assert answer["id"] == "r-1"
    assert (answer["error"]["code"], rule_of(answer["error"])) == (code, rule)


@pytest.mark.parametrize("id", ["", "a", 0, -1, 2**53 - 1])
def test_ids_are_given_back(bench: A2aBench, id: object) -> None:
    """Check that an answer has the id of its request, of the same type."""
    request = {"jsonrpc": "2.0", "id": id, "method": "ListTasks"}
    assert bench.ask("POST", AGENT, json=request).json()["id"] == id


@pytest.mark.parametrize("version", ["", "0.3", "2.0", "1", "1.1", "x"])
def test_versions_that_are_not_served(bench: A2aBench, version: str) -> None:
    """Check that another version than 1.0, or none, is refused in both bindings."""
    headers = {"A2A-Version": version}
    error = bench.error("ListTasks", headers=headers)
    assert (error["code"], rule_of(error)) == (-32009, "a2a.version")
    response = bench.ask("GET", TASKS, headers=headers)
    assert (response.status_code, rule_of(response.json()["error"])) == (400, "a2a.version")


def test_version_in_the_query(bench: A2aBench) -> None:
    """Check that a client that can set no header names the version in the query."""
    path = f"{TASKS}?A2A-Version=1.0"
    assert bench.ask("GET", path, headers={"A2A-Version": ""}).status_code == 200


@pytest.mark.parametrize(
    ("version", "fits"), [("1.0", True), ("1.0.1", True), ("1.0.x", False), ("10.0", False)]
)
def test_version_without_its_patch(version: str, fits: bool) -> None:
    """Major and minor decide."""
    assert fits_version(version) is fits


@pytest.mark.parametrize(
    ("path", "media_type", "status"),
    [
        (AGENT, "application/json", 200),
        (AGENT, "text/plain", 415),
        (SEND, "application/a2a+json", 400),
        (SEND, "application/json; charset=utf-8", 400),
        (SEND, "text/plain", 415),
    ],
)
def test_media_types(bench: A2aBench, path: str, media_type: str, status: int) -> None:
    """Other media types are refused before the body is read."""
    response = bench.ask("POST", path, content=b"{}", headers={"content-type": media_type})
    assert response.status_code == status
    if status == 415:
        assert response.json()["error"]["status"] == "INVALID_ARGUMENT"


def test_answers_of_http(bench: A2aBench) -> None:
    """Answers have the media type of A2A, its version, and the extension that was asked for."""
    response = bench.ask("GET", TASKS, headers={"A2A-Extensions": f"urn:x, {EXT}"})
    assert response.headers["content-type"] == "application/a2a+json"
    assert response.headers["a2a-version"] == "1.0"
    assert response.headers["a2a-extensions"] == EXT
    assert "a2a-extensions" not in bench.ask("GET", TASKS).headers


@pytest.mark.parametrize("body", [b"{", b'{"a":1,"a":2}', b"[]", b"5"])
def test_bodies_that_are_no_request(bench: A2aBench, body: bytes) -> None:
    """HTTP+JSON refuses what is no object of JSON."""
    response = bench.ask("POST", SEND, content=body)
    assert (response.status_code, response.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"{TASKS}/x", 404),
        ("GET", f"{TASKS}/x:cancel", 404),
        ("POST", f"{TASKS}/x", 404),
        ("POST", f"{TASKS}/x:subscribe", 404),
        ("POST", f"{TASKS}/x/pushNotificationConfigs", 400),
        ("GET", f"{TASKS}/x/pushNotificationConfigs", 400),
        ("DELETE", f"{TASKS}/x/pushNotificationConfigs/c", 400),
        ("PUT", TASKS, 405),
    ],
)
def test_paths(bench: A2aBench, method: str, path: str, status: int) -> None:
    """Check that each path takes its methods; pushes are refused, since the gateway sends none."""
    response = bench.ask(method, path, json={} if method == "POST" else None)
    assert response.status_code == status
    assert response.json()["error"]["code"] == status


@pytest.mark.parametrize(
    ("segment", "expected"),
    [
        ("a", ("a", "")),
        ("a:cancel", ("a", "cancel")),
        ("a:b:subscribe", ("a:b", "subscribe")),
        ("a:other", ("a:other", "")),
        ("a%3Acancel", ("a:cancel", "")),
        ("a%2Fb", ("a/b", "")),
    ],
)
def test_verb_of_a_path(segment: str, expected: tuple[str, str]) -> None:
    """Check that a verb after the last colon wins over an id that ends so."""
    assert split_verb(segment) == expected


def test_answer_waits_for_a_position(bench: A2aBench) -> None:
    """Check that a GET with `after` has seen what was decided there."""
    bench.agent()
    sent = bench.ask("POST", SEND, json=sending())
    position = sent.headers["headrace-position"]
    listed = bench.ask("GET", f"{TASKS}?after={position}").json()
    assert listed["totalSize"] == 1
    wrong = bench.ask("GET", f"{TASKS}?after=x")
    assert (wrong.status_code, rule_of(wrong.json()["error"])) == (422, "query_value")


def test_gateway_without_the_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that without the extra each path of the door says what is missing."""
    doors = [name for name in sys.modules if name.startswith("streams.doors.a2a.")]
    for name in [*doors, *(name for name in sys.modules if name.split(".")[0] == "a2a")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "a2a", None)
    with a2a_bench(tmp_path) as bench:
        response = bench.ask("GET", f"{AGENT}/.well-known/agent-card.json")
        assert response.status_code == 501
        assert rule_of(response.json()["error"]) == "extra_missing"
        assert "headrace[a2a]" in json.dumps(response.json())
        assert "a2a" not in bench.ask("GET", "/v1/service").json()["features"]


def test_head_opens_no_stream(bench: A2aBench) -> None:
    """HEAD of a stream would not end, so there is none."""
    assert bench.ask("HEAD", f"{TASKS}/x:subscribe").status_code == 404
    assert bench.ask("HEAD", f"{AGENT}/.well-known/agent-card.json").status_code == 200


def test_openapi_describes_every_endpoint(bench: A2aBench) -> None:
    """Name each path of the door, with an operation of its own and the form of its errors."""
    document = bench.ask("GET", "/openapi.json").json()
    operations = [
        document["paths"][endpoint.path][endpoint.method.lower()] for endpoint in ENDPOINTS
    ]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(ENDPOINTS)
    assert "A2aError" in document["components"]["schemas"]
    listing = document["paths"]["/v1/a2a/agents"]["get"]
    parameters = {each["name"] for each in listing["parameters"]}
    assert {"limit", "cursor", "after", "fresh"} <= parameters
