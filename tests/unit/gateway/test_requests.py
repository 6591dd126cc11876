"""Requests that are not as they should be get a problem that says so, and never a 5xx."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.gateway import limits
from streams.gateway.descriptions import ALL_HTTP_RULES
from tests.examples import example_count
from tests.unit.envelopes import IDEA_ID, idea, transition
from tests.unit.gateway.bench import GatewayBench

PRODUCE = ("/v1/apc/packets", "/v1/rtes/events", "/v1/saop/turns")
BODIES = (
    *PRODUCE,
    "/v1/apc/arbitrate",
    "/v1/apc/evaluate",
    "/v1/saop/sessions/s%2F1/rewind",
)
JSON = {"content-type": "application/json"}
STATUS = {rule.code: rule.status for rule in ALL_HTTP_RULES}


def refused(answer: Any, rule: str) -> Any:
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (body["rule"], body["status"]) == (rule, answer.status_code)
    assert answer.status_code == STATUS.get(rule, 422)
    return body


def test_an_unknown_path(gateway: GatewayBench) -> None:
    for path in ("/nothing", "/v1/nothing", "/v1/apc/packets/", "/v1/apc/sessions//coordination"):
        refused(gateway.ask("GET", path), "path_unknown")


def test_a_method_that_a_path_does_not_take(gateway: GatewayBench) -> None:
    answer = gateway.ask("DELETE", "/v1/apc/packets")
    refused(answer, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"


def test_options_name_the_methods(gateway: GatewayBench) -> None:
    answer = gateway.ask("OPTIONS", "/v1/apc/arbitrate")
    assert (answer.status_code, answer.headers["allow"]) == (204, "OPTIONS, POST")
    refused(gateway.ask("OPTIONS", "/v1/nothing"), "path_unknown")


def test_head_is_get_without_a_body(gateway: GatewayBench) -> None:
    answer = gateway.ask("HEAD", "/v1/apc/packets")
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) > 0


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=utf-16"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
def test_another_media_type(gateway: GatewayBench, path: str, headers: dict[str, str]) -> None:
    refused(gateway.ask("POST", path, content=b"{}", headers=headers), "media_type")


@pytest.mark.parametrize("kind", [None, "application/json; charset=UTF-8", "application/a+json"])
def test_media_types_that_are_json(gateway: GatewayBench, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    answer = gateway.ask("POST", PRODUCE[0], content=json.dumps(idea()), headers=headers)
    assert answer.status_code == 202, answer.text


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'"\xed\xa0\x80"',
        b'{"a":1,"a":2}',
        b'["\\ud800"]',
        b"[NaN]",
        b"[" * 100_000,
        b"[" * 900 + b"]" * 900,
        b'{"a":' * 300 + b"1" + b"}" * 300,
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_body_that_is_no_json(gateway: GatewayBench, path: str, body: bytes) -> None:
    answer = gateway.ask("POST", path, content=body, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert answer.json()["rule"]


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_above_its_limit(tmp_path: Path, declared: bool) -> None:
    async def parts() -> Any:
        for _ in range(4):
            yield b" " * 600

    with GatewayBench(tmp_path, gateway_max_body_bytes=1024) as gateway:
        content = b" " * 2000 if declared else parts()
        answer = gateway.ask("POST", PRODUCE[0], content=content, headers=JSON)
        refused(answer, "too_large")
        assert answer.headers["connection"] == "close"


def test_a_body_that_does_not_come(gateway: GatewayBench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def parts() -> Any:
        yield b"["
        await asyncio.Event().wait()

    monkeypatch.setattr("streams.gateway.request_parts.BODY_S", 0.05)
    for path in BODIES:
        answer = gateway.ask("POST", path, content=parts(), headers=JSON)
        refused(answer, "request_timeout")
        assert answer.headers["connection"] == "close"


def test_too_many_values(gateway: GatewayBench) -> None:
    refused(gateway.ask("POST", PRODUCE[1], json=[transition()] * 1001), "too_large")
    assert gateway.bench.records("rtes.raw") == []


def test_headers_above_their_limit(gateway: GatewayBench) -> None:
    headers = {"x-long": "a" * limits.MAX_HEAD}
    refused(gateway.ask("GET", "/v1/apc/packets", headers=headers), "headers_too_large")
    refused(gateway.ask("GET", f"/v1/apc/packets?a={'b' * limits.MAX_HEAD}"), "headers_too_large")


@pytest.mark.parametrize(
    "query", ["session_id=%FF", "session_id=%ED%A0%80", "&".join(f"a{n}=" for n in range(200))]
)
def test_a_query_that_is_no_text(gateway: GatewayBench, query: str) -> None:
    refused(gateway.ask("GET", f"/v1/apc/packets?{query}"), "query_value")


@pytest.mark.parametrize("value", ["%00", "%F0%9F%8C%8A", "a%2Fb", "%25", "+", "%C3%A9"])
def test_ids_are_any_text(gateway: GatewayBench, value: str) -> None:
    assert gateway.ask("GET", f"/v1/apc/packets?session_id={value}").status_code == 200
    refused(gateway.ask("GET", f"/v1/apc/sessions/{value}/coordination"), "not_found")


def test_a_position_that_cannot_be(gateway: GatewayBench) -> None:
    for after in ("apc.events/0/1", "apc.packets/9/0", "nowhere"):
        body = refused(gateway.ask("GET", f"/v1/apc/packets?after={after}"), "query_value")
        assert body["path"] == "after"


def test_a_record_that_nobody_judges_in_time(tmp_path: Path) -> None:
    with GatewayBench(tmp_path) as gateway:
        object.__setattr__(gateway.settings, "gateway_wait_s", 0)
        (position,) = gateway.ask("POST", PRODUCE[0], json=idea()).json()["positions"]
        body = refused(gateway.ask("GET", f"/v1/apc/packets?after={position}"), "not_seen_in_time")
        assert body["lag"] >= 0


def test_more_requests_than_are_taken_at_once(tmp_path: Path) -> None:
    with GatewayBench(tmp_path, gateway_max_requests=2) as gateway:
        (position,) = gateway.ask("POST", PRODUCE[0], json=idea()).json()["positions"]
        waiting: tuple[str, str, Any] = ("GET", f"/v1/apc/packets?after={position}", {})
        object.__setattr__(gateway.settings, "gateway_wait_s", 1)
        answers = gateway.ask_all([waiting] * 3 + [("GET", "/healthz", {})])
        assert sorted(answer.status_code for answer in answers) == [200, 503, 504, 504]
        (busy,) = [answer for answer in answers if answer.status_code == 503]
        refused(busy, "service_unavailable")
        assert busy.headers["retry-after"] == "1"


def test_a_fault_of_the_service_is_coded(
    gateway: GatewayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.protocols.apc.queries.packets.trace", lambda *_: 1 // 0)
    refused(gateway.ask("GET", "/v1/apc/packets"), "service_internal")


def test_it_says_how_it_is(gateway: GatewayBench) -> None:
    assert gateway.get("/healthz") == {"alive": True}
    status = gateway.get("/readyz")
    assert (status["ready"], status["view"]["state"]) == (True, "ready")


def test_without_a_view_it_says_so(tmp_path: Path) -> None:
    gateway = GatewayBench(tmp_path)
    answer = gateway.ask("GET", "/readyz")
    assert (answer.status_code, answer.json()["view"]["state"]) == (503, "starting")
    refused(gateway.ask("GET", "/v1/apc/packets"), "service_unavailable")
    assert gateway.ask("POST", PRODUCE[0], json=idea()).status_code == 202
    gateway.bench.close()


def test_the_access_log_has_no_values_of_queries(
    gateway: GatewayBench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "streams.gateway.access"):
        gateway.ask("GET", "/v1/apc/packets?session_id=hidden-word")
    (line,) = [json.loads(record.message) for record in caplog.records]
    assert (line["route"], line["query"], line["status"]) == (
        "/v1/apc/packets",
        ["session_id"],
        200,
    )
    assert "hidden-word" not in caplog.text


def test_an_order_of_which_it_is_not_known_what_came_says_where_it_is(tmp_path: Path) -> None:
    path, body = "/v1/saop/sessions/s1/rewind", {"task_id": "A"}
    gateway = GatewayBench(tmp_path)
    object.__setattr__(gateway.settings, "gateway_wait_s", 0)
    answer = gateway.ask("POST", path, json=body)
    assert refused(answer, "service_unavailable")["position"].endswith("/0")
    with gateway:
        answer = gateway.ask("POST", path, json=body)
        assert refused(answer, "not_seen_in_time")["position"].endswith("/1")


@pytest.mark.parametrize("phase", ["confirm", "abort", "lapse", "", None, 1, [], {}])
def test_a_body_orders_no_other_phase(gateway: GatewayBench, phase: Any) -> None:
    body = {"task_id": "A", "phase": phase}
    answer = gateway.ask("POST", "/v1/saop/sessions/s1/rewind", json=body)
    assert refused(answer, "schema_invalid")["path"] == "/phase"
    assert gateway.bench.records("saop.rewinds") == []


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(sorted(idea())), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with GatewayBench(tmp_path_factory.mktemp("shared")) as gateway:
        yield gateway


@settings(max_examples=example_count(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    path=st.sampled_from(BODIES),
    member=st.sampled_from(sorted(idea())),
    value=VALUES,
    whole=st.booleans(),
)
def test_whatever_is_sent_is_taken_or_refused(
    shared: GatewayBench, path: str, member: str, value: Any, whole: bool
) -> None:
    body = value if whole else {**idea(), member: value}
    answer = shared.ask("POST", path, content=json.dumps(body), headers=JSON)
    assert answer.status_code < 500, answer.text


@settings(max_examples=example_count(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(raw=st.binary(max_size=40), path=st.sampled_from(["/v1/apc/packets", "/v1/lineage/summary"]))
def test_whatever_is_asked_is_answered_or_refused(
    shared: GatewayBench, raw: bytes, path: str
) -> None:
    quoted = "".join(f"%{byte:02X}" for byte in raw)
    for target in (f"{path}?session_id={quoted}", f"/v1/apc/sessions/{quoted}/packets/{IDEA_ID}"):
        assert shared.ask("GET", target).status_code < 500
