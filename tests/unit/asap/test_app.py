"""The server in process: its routes, metrics, manifest, handlers, idempotency (ASAP guide, 6.2)."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from typing import Any

import httpx
import pytest

from schemas.asap import (
    AuthScheme,
    Envelope,
    Manifest,
    TaskResponse,
    TaskStatus,
    normalize_payload_type,
    reply_to,
)
from streams import HandlerRegistry, create_app
from streams.asap import reply_cache
from streams.asap.faults import ERROR_TYPES
from tests.unit.asap.support import (
    BASE,
    PAYLOADS,
    PLANNER,
    ask,
    call,
    envelope_json,
    manifest,
    post,
)

NAMES = (
    "asap_requests_total",
    "asap_requests_success_total",
    "asap_requests_error_total",
    "asap_request_duration_seconds",
    "asap_process_uptime_seconds",
)


def test_the_routes_are_the_app_s_own() -> None:
    app = create_app(manifest())
    assert app.title == "ASAP Protocol Server"
    paths = {getattr(route, "path", None) for route in app.routes}
    assert paths >= {"/asap", "/.well-known/asap/manifest.json", "/asap/metrics"}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_only_posts_are_taken(method: str) -> None:
    answer = ask(create_app(manifest()), method, "/asap")
    assert answer.status_code == 405
    assert answer.json()


@pytest.mark.parametrize("path", ["/", "/asap/", "/asap/x", "/manifest.json"])
def test_an_unknown_path(path: str) -> None:
    answer = ask(create_app(manifest()), "POST", path)
    assert answer.status_code == 404
    assert answer.json()


def test_the_manifest_is_public_and_whole() -> None:
    agent_manifest = manifest(AuthScheme(schemes=["bearer"]))
    app = create_app(agent_manifest, token_validator=lambda token: None)
    answer = ask(app, "GET", "/.well-known/asap/manifest.json")
    assert answer.status_code == 200
    assert answer.json() == agent_manifest.model_dump(mode="json")
    assert answer.json()["signature"] is None
    assert Manifest.model_validate(answer.json()) == agent_manifest


def test_metrics_are_there_before_the_first_request() -> None:
    answer = ask(create_app(manifest()), "GET", "/asap/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert all(name in answer.text for name in NAMES)
    uptime = re.search(r"^asap_process_uptime_seconds (\S+)$", answer.text, re.M)
    assert uptime is not None
    assert float(uptime[1]) > 0


def test_metrics_count_what_was_answered() -> None:
    app = create_app(manifest())
    post(app, call(envelope_json("task.request", payload=PAYLOADS["TaskRequest"])))
    post(app, call(envelope_json()))
    post(app, call(envelope_json("TaskCancel")))
    for number in range(3):
        post(app, call(envelope_json(f"Nonsense{number}")))
    post(app, b"{")
    text = ask(app, "GET", "/asap/metrics").text
    for line in (
        'asap_requests_total{payload_type="TaskRequest",status="success"} 2.0',
        'asap_requests_success_total{payload_type="TaskRequest"} 2.0',
        'asap_requests_total{payload_type="TaskCancel",status="error"} 1.0',
        'asap_requests_error_total{error_type="handler_not_found",payload_type="TaskCancel"} 1.0',
        'asap_requests_error_total{error_type="handler_not_found",payload_type="unknown"} 3.0',
        'asap_requests_error_total{error_type="parse_error",payload_type="unknown"} 1.0',
        'asap_request_duration_seconds_count{payload_type="TaskRequest",status="success"} 2.0',
    ):
        assert _unordered(line) in {_unordered(sample) for sample in text.splitlines()}, text
    kinds = set(re.findall(r'error_type="(\w+)"', text))
    assert kinds <= set(ERROR_TYPES)


def _unordered(line: str) -> frozenset[str]:
    return frozenset(re.split(r"[{},]", line))


@pytest.mark.parametrize("name", list(PAYLOADS))
@pytest.mark.parametrize("style", ["{}", ".", "_", "-", "upper"])
def test_every_type_in_every_spelling_finds_its_handler(name: str, style: str) -> None:
    words = re.findall("[A-Z][a-z]*", name)
    spelling = {"{}": name, "upper": name.upper()}.get(style) or style.join(words).lower()
    seen: list[Envelope] = []

    def handler(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        seen.append(envelope)
        done = TaskResponse(task_id="t", status=TaskStatus.COMPLETED)
        return reply_to(envelope, done, sender=agent_manifest.id)

    registry = HandlerRegistry()
    registry.register(name, handler)
    of = {**envelope_json(name), "payload_type": spelling}
    answer = post(create_app(manifest(), registry), call(of))
    assert normalize_payload_type(answer["result"]["envelope"]["payload_type"]) == "TaskResponse"
    assert (seen[0].payload_type, seen[0].canonical_type) == (spelling, name)


@pytest.mark.parametrize(
    ("request_type", "reply_type"),
    [
        ("TaskRequest", "TaskResponse"),
        ("task.request", "task.response"),
        ("task_request", "task_response"),
        ("task-request", "task-response"),
    ],
)
def test_the_echo_answers_in_the_style_of_the_request(request_type: str, reply_type: str) -> None:
    of = {**envelope_json(), "payload_type": request_type}
    reply = post(create_app(manifest()), call(of))["result"]["envelope"]
    assert reply["payload_type"] == reply_type
    assert "payload_type" not in reply["payload"]


def test_without_handlers_nothing_is_handled() -> None:
    answer = post(create_app(manifest(), HandlerRegistry()), call(envelope_json()))
    assert answer["error"]["code"] == -32601


def test_a_type_of_one_s_own() -> None:
    registry = HandlerRegistry()
    registry.register("acme.ping", lambda envelope, agent_manifest: envelope)
    app = create_app(manifest(), registry)
    answer = post(app, call(envelope_json("acme_ping", payload={"n": 1})))
    assert answer["result"]["envelope"]["payload"] == {"n": 1}
    assert 'payload_type="acme.ping"' in ask(app, "GET", "/asap/metrics").text


class Counting:
    """An echo that can be held up, and knows how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0
        self.go = threading.Event()
        self.go.set()
        registry = HandlerRegistry()
        registry.register("TaskRequest", self.answer)
        self.app = create_app(manifest(), registry)

    def answer(self, envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        self.calls += 1
        self.go.wait(10)
        if envelope.payload["input"].get("fail"):
            raise RuntimeError(f"call {self.calls}")
        done = TaskResponse(task_id=f"t-{self.calls}", status=TaskStatus.COMPLETED)
        return reply_to(envelope, done, sender=agent_manifest.id)


def test_a_send_with_the_same_key_gets_the_same_reply() -> None:
    counting, of = Counting(), envelope_json()
    answers = [post(counting.app, call(of, n, idempotency_key="k")) for n in range(3)]
    assert counting.calls == 1
    assert [answer["id"] for answer in answers] == [0, 1, 2]
    assert answers[0]["result"] == answers[1]["result"] == answers[2]["result"]


@pytest.mark.parametrize(
    "changes",
    [
        {"payload": {**PAYLOADS["TaskRequest"], "input": {"pages": 43}}},
        {"sender": "urn:asap:agent:other"},
        {"trace_id": "tr-20"},
        {"id": "another"},
    ],
)
def test_a_key_with_other_content_is_new(changes: dict[str, Any]) -> None:
    counting, of = Counting(), envelope_json()
    post(counting.app, call(of, idempotency_key="k"))
    post(counting.app, call({**of, **changes}, idempotency_key="k"))
    assert counting.calls == 2


def test_without_a_key_each_send_is_handled() -> None:
    counting, of = Counting(), envelope_json()
    for key in ({}, {"idempotency_key": "a"}, {"idempotency_key": "b"}, {}):
        post(counting.app, call(of, **key))
    assert counting.calls == 4


def test_a_spelling_is_no_other_content() -> None:
    counting, of = Counting(), envelope_json()
    post(counting.app, call(of, idempotency_key="k"))
    post(counting.app, call({**of, "payload_type": "task.request"}, idempotency_key="k"))
    assert counting.calls == 1


def test_a_failure_is_not_kept() -> None:
    counting = Counting()
    of = envelope_json(payload={**PAYLOADS["TaskRequest"], "input": {"fail": True}})
    errors = [post(counting.app, call(of, idempotency_key="k"))["error"] for _ in range(2)]
    assert [each["data"]["error"] for each in errors] == ["call 1", "call 2"]


def test_a_send_that_comes_meanwhile_waits_for_the_first() -> None:
    counting, of = Counting(), envelope_json()
    counting.go.clear()

    async def both() -> list[httpx.Response]:
        transport = httpx.ASGITransport(counting.app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as http:
            sends = [
                asyncio.create_task(http.post("/asap", json=call(of, n, idempotency_key="k")))
                for n in range(5)
            ]
            while not counting.calls:
                await asyncio.sleep(0)
            counting.go.set()
            return await asyncio.gather(*sends)

    answers = [answer.json() for answer in asyncio.run(both())]
    assert counting.calls == 1
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 4]
    assert len({answer["result"]["envelope"]["id"] for answer in answers}) == 1


def test_only_so_many_replies_are_kept_and_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_cache, "MAX_REPLIES", 3)
    now = [0.0]
    cache, made = reply_cache.ReplyCache(lambda: now[0]), []

    async def send(number: int) -> None:
        of = Envelope.model_validate(envelope_json(id=f"e-{number}"))

        async def make() -> Envelope:
            made.append(number)
            return of

        await cache.get_or_make(of, "k", make)

    async def story() -> None:
        for number in (1, 2, 3, 1, 4, 2, 3, 4, 1):
            await send(number)
        assert made == [1, 2, 3, 4, 1], "1 was the first to go"
        now[0] = reply_cache.LIFETIME_S
        await send(4)
        assert made[-1] == 1
        now[0] += 1
        await send(4)
        assert made[-1] == 4

    asyncio.run(story())


def test_two_agents_meet() -> None:
    """A request, and an answer to it that the other side understands."""
    of = envelope_json()
    reply = post(create_app(manifest()), call(of))["result"]["envelope"]
    reply_envelope = Envelope.model_validate(reply)
    assert reply_envelope.recipient == PLANNER
    assert reply_envelope.typed_payload().payload_type == "TaskResponse"


@pytest.mark.parametrize("text", ['{"\\ud800": 1}', '{"\\ud800": 1e999}', '{"a": "\\ud800"}'])
def test_what_is_no_unicode_text_is_echoed_as_it_came(text: str) -> None:
    request_text = json.dumps(call(envelope_json(), idempotency_key="k"))
    body = request_text.replace(json.dumps(PAYLOADS["TaskRequest"]["input"]), text)
    assert text in body
    answer = ask(create_app(manifest()), "POST", "/asap", content=body)
    echoed = json.loads(answer.content)["result"]["envelope"]["payload"]["result"]["echoed"]
    assert echoed == json.loads(text.replace("1e999", "null"))
