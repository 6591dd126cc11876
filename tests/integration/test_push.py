"""Webhooks of MCP and push of A2A on real Kafka: kills, and receivers of all kinds."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict
from mcp.types import LATEST_PROTOCOL_VERSION

from streams.access import Role
from tests.authority import Authority
from tests.integration.a2a_wire import A2aWire, message, register, reply, steps
from tests.integration.system import Live, live
from tests.integration.test_gateway_tokens import Tokens
from tests.integration.test_mcp_foreign import NODE
from tests.interop.node_tools import NodeTools
from tests.processes import wait_for
from tests.unit.doors.push.receivers import HttpReceiver, Received, answer_challenges, receiving
from tests.unit.protocols.sap.queries.stage import task
from tests.unit.protocols.summit.queries.stage import AGENT, manifest, result

pytestmark = pytest.mark.slow
Json = dict[str, Any]
KEY = {"GATEWAY_KEY": "k" * 32, "PUSH_ALLOW": "127.0.0.0/8"}
SECRET = f"whsec_{base64.b64encode(b's' * 32).decode()}"
ACKS: Json = {"topic": "sap.acks"}
PATIENCE_S = 90


class Hooked:
    """A client with a token: sends SAP tasks, and asks for webhooks."""

    def __init__(self, system: Live, token: str) -> None:
        self._system, self._token = system, token

    def ask(self, method: str, **params: Any) -> Json:
        """Return the result of a request of MCP."""
        meta: Json = {
            "io.modelcontextprotocol/protocolVersion": LATEST_PROTOCOL_VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "authorization": f"Bearer {self._token}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": LATEST_PROTOCOL_VERSION,
            "mcp-method": method,
        }
        response = httpx.post(f"{self._system.url}/mcp", json=body, headers=headers, timeout=60)
        texts = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
        answer: Json = json.loads(texts[-1] if texts else response.text)
        assert "result" in answer, answer
        outcome: Json = answer["result"]
        return outcome

    def subscribe(self, url: str) -> Json:
        delivery = {"mode": "webhook", "url": url, "secret": SECRET}
        return self.ask("events/subscribe", name="fact", arguments=ACKS, delivery=delivery)

    def send(self, *numbers: int) -> None:
        """Send SAP tasks, each of which gets one ack."""
        headers = {"authorization": f"Bearer {self._token}"}
        for number in numbers:
            response = httpx.post(
                f"{self._system.url}/v1/sap/tasks", json=task(number), headers=headers, timeout=60
            )
            assert response.status_code == 202, response.text


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "tokens.jsonl")


@pytest.fixture
def system(broker: str, tokens: Tokens, tmp_path: Path) -> Iterator[Live]:
    more = {**KEY, "TOKENS": str(tokens.path), "PRINCIPAL_KEY": "of this test alone"}
    with live(broker, tmp_path / "system", SAP_MAX_WAIT_S="60", **more) as each:
        yield each


@pytest.fixture
def hooked(system: Live, tokens: Tokens) -> Hooked:
    return Hooked(system, tokens.new("ana", Role.PRODUCER, Role.READER))


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(4 * PATIENCE_S):
            await work()

    asyncio.run(bounded())


def events_in(requests: list[Received]) -> list[str]:
    """Return the ids of events, in the order of their arrival."""
    return [each.headers["webhook-id"] for each in requests if "eventId" in each.json]


def has_events(hook: HttpReceiver, count: int) -> bool:
    """Return whether so many different events have come."""
    return len(set(events_in(hook.requests))) == count


def pushed_ids(hook: HttpReceiver) -> list[str]:
    return [each.headers["headrace-event-id"] for each in hook.requests]


async def until(is_there: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_there():
            await asyncio.sleep(0.05)


def in_order(ids: list[str]) -> bool:
    """Return whether in each partition the first arrivals are in the order of the log."""
    firsts = list(dict.fromkeys(ids))
    by_partition: dict[str, list[int]] = {}
    for each in firsts:
        _, partition, offset = each.split("/")
        by_partition.setdefault(partition, []).append(int(offset))
    return all(offsets == sorted(offsets) for offsets in by_partition.values())


def test_a_gateway_killed_after_a_post_delivers_again_at_the_next(
    system: Live, hooked: Hooked
) -> None:
    """Kill the gateway once the receiver has an event and before it is noted that it has."""
    numbers = list(range(12))

    async def work() -> None:
        async with receiving() as hook:

            def answer(received: Received) -> tuple[int, bytes] | None:
                if len(events_in(hook.requests)) == 5:
                    system.gateway.kill()
                    return None
                return answer_challenges(received)

            hook.answer = answer
            await asyncio.to_thread(hooked.subscribe, hook.url())
            await asyncio.to_thread(hooked.send, *numbers[:6])
            await until(lambda: not system.gateway.running)
            (killed,) = events_in(hook.requests)[4:]
            hook.answer = answer_challenges
            await asyncio.to_thread(system.start_gateway)
            await asyncio.to_thread(hooked.send, *numbers[6:])
            await until(lambda: len(set(events_in(hook.requests))) == len(numbers))
            ids = events_in(hook.requests)
            assert ids.count(killed) == 2
            assert len(ids) == len(numbers) + 1
            assert in_order(ids)

    run(work)


def test_two_gateways_share_subscriptions_and_one_takes_over(system: Live, hooked: Hooked) -> None:
    numbers = list(range(10))

    async def work() -> None:
        async with AsyncExitStack() as stack:
            hooks = [await stack.enter_async_context(receiving()) for _ in range(6)]
            for hook in hooks:
                await asyncio.to_thread(hooked.subscribe, hook.url())
            first = system.gateway
            await asyncio.to_thread(system.start_gateway)
            await asyncio.to_thread(hooked.send, *numbers[:5])
            await until(lambda: all(len(set(events_in(h.requests))) == 5 for h in hooks))
            first.kill()
            await asyncio.to_thread(hooked.send, *numbers[5:])
            await until(lambda: all(len(set(events_in(h.requests))) == 10 for h in hooks))
            for hook in hooks:
                assert in_order(events_in(hook.requests))

    run(work)


def test_receivers_that_fail_hang_redirect_or_are_gone(
    system: Live, hooked: Hooked, tmp_path: Path
) -> None:
    """Let each delay or end itself alone; the command shows how each is."""
    answers: dict[str, Callable[[HttpReceiver], Callable[[Received], Any]]] = {
        "good": lambda hook: answer_challenges,
        "broken": lambda hook: _after_challenge(lambda received: (503, b"")),
        "hanging": lambda hook: _after_challenge(lambda received: None),
        "moved": lambda hook: _after_challenge(lambda received: (307, b"")),
        "gone": lambda hook: _after_challenge(lambda received: (410, b"")),
    }

    async def work() -> None:
        async with AsyncExitStack() as stack:
            hooks, ids = {}, {}
            for name, answer_of in answers.items():
                hook = hooks[name] = await stack.enter_async_context(receiving())
                hook.answer = answer_of(hook)
                ids[name] = (await asyncio.to_thread(hooked.subscribe, hook.url()))["id"]
            hooks["moved"].location = hooks["good"].url("/elsewhere")
            await asyncio.to_thread(hooked.send, 1, 2)
            await until(lambda: len(events_in(hooks["good"].requests)) == 2)
            listed: dict[str, Json] = {}

            def is_listed() -> bool:
                listed.update({each["id"]: each for each in _listed(system)})
                errors = {name: listed[id]["last_error"] for name, id in ids.items()}
                return None not in [errors[name] for name in answers if name != "good"]

            await asyncio.to_thread(wait_for, is_listed, "the failures are listed", PATIENCE_S)
            errors = {name: listed[id]["last_error"] for name, id in ids.items()}
            assert errors == {
                "good": None,
                "broken": "http_503",
                "hanging": "timeout",
                "moved": "http_307",
                "gone": "http_410",
            }
            gone = listed[ids["gone"]]
            assert (gone["state"], gone["reason"]) == ("ended", "gone")
            assert {each.path for each in hooks["good"].requests} == {"/hook"}
            for name in ("broken", "hanging", "moved"):
                assert listed[ids[name]]["state"] == "active"
                hooks[name].answer = answer_challenges
            for name in ("broken", "hanging", "moved"):
                await until(partial(has_events, hooks[name], 2))
                assert in_order(events_in(hooks[name].requests))
            assert len(set(events_in(hooks["gone"].requests))) == 1

    run(work)


def _after_challenge(answer: Callable[[Received], Any]) -> Callable[[Received], Any]:
    """Return an answer that is good to a challenge only."""

    def choose(received: Received) -> Any:
        is_challenge = received.json.get("type") == "verification"
        return answer_challenges(received) if is_challenge else answer(received)

    return choose


def _listed(system: Live) -> list[Json]:
    """Return what `headrace subscriptions --json` prints."""
    name = f"list-{uuid.uuid4().hex[:8]}"
    command = system.process(name, "streams.cli", "subscriptions", "--json")
    assert command.exit_code(60) == 0, command.text()
    return [json.loads(line) for line in command.text().splitlines() if line.startswith("{")]


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_official_client_has_events_pushed_over_tls_also_after_a_kill(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, binding: str
) -> None:
    authority = Authority(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.issue("receiver"))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))

    async def configure(system: Live, task_id: str, url: str) -> None:
        config = ClientConfig(supported_protocol_bindings=[binding])
        pushed = a2a_pb2.TaskPushNotificationConfig(task_id=task_id, id="hook", url=url, token="t")
        base = f"{system.url}/a2a/{AGENT}"
        async with await create_client(base, client_config=config) as client:
            made = await client.create_task_push_notification_config(pushed)
            assert (made.id, made.url, made.token) == ("hook", url, "")
            request = a2a_pb2.GetTaskPushNotificationConfigRequest(task_id=task_id, id="hook")
            assert await client.get_task_push_notification_config(request) == made
            every = a2a_pb2.ListTaskPushNotificationConfigsRequest(task_id=task_id)
            listed = await client.list_task_push_notification_configs(every)
            assert list(listed.configs) == [made]
            other = a2a_pb2.TaskPushNotificationConfig(task_id=task_id, id="other", url=url)
            await client.create_task_push_notification_config(other)
            await client.delete_task_push_notification_config(
                a2a_pb2.DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="other")
            )

    async def work(system: Live) -> None:
        async with receiving(lambda received: (200, b""), tls) as hook:
            task_id = A2aWire(system.url, AGENT).send(message("m-1"), 0)["id"]
            await configure(system, task_id, hook.url(scheme="https"))
            await asyncio.to_thread(reply, system, *steps(task_id, range(3)))
            await until(lambda: len(hook.requests) >= 2)
            system.gateway.kill()
            await asyncio.to_thread(system.start_gateway)
            await asyncio.to_thread(reply, system, *steps(task_id, range(3, 5)), result(task_id))
            last = f"{task_id}/7"
            await until(lambda: last in pushed_ids(hook))
            expected = [f"{task_id}/{id}" for id in ("2", "3", "4", "5", "6", "7a", "7")]
            assert list(dict.fromkeys(pushed_ids(hook))) == expected
            for each in hook.requests:
                ParseDict(each.json, a2a_pb2.StreamResponse())
                assert each.headers["x-a2a-notification-token"] == "t"

    with live(broker, tmp_path / "system", **KEY) as system:
        register(system, manifest())
        run(lambda: work(system))


def test_a_message_with_a_configuration_is_pushed_from_its_first_event(
    broker: str, tmp_path: Path
) -> None:
    async def work(system: Live) -> None:
        async with receiving(lambda received: (200, b"")) as hook:
            body = message("m-1")
            body["configuration"] = {
                "returnImmediately": True,
                "taskPushNotificationConfig": {"url": hook.url()},
            }
            task_id = A2aWire(system.url, AGENT).send(body, 0)["id"]
            await asyncio.to_thread(reply, system, result(task_id))
            await until(lambda: len(hook.requests) >= 3)
            assert pushed_ids(hook) == [f"{task_id}/{id}" for id in ("1", "2a", "2")]
            await asyncio.to_thread(
                wait_for,
                lambda: [each["state"] for each in _listed(system)] == ["ended"],
                "it has ended",
                PATIENCE_S,
            )

    with live(broker, tmp_path / "system", **KEY) as system:
        register(system, manifest())
        run(lambda: work(system))


def test_the_receiver_of_the_ai_sdk_takes_what_its_client_asks_for(
    system: Live, tokens: Tokens, tmp_path: Path
) -> None:
    """Verify each signature, answer the challenge, refresh and end the subscription."""
    tools, order = NodeTools(tmp_path / "interop", "mcp"), tmp_path / "order.json"
    envelopes = [task(number) for number in (1, 2)]
    token = tokens.new("ana", Role.PRODUCER, Role.READER)
    order.write_text(
        json.dumps({"url": f"{system.url}/mcp", "token": token, "envelopes": envelopes})
    )
    ran = tools.run([NODE, "ai_sdk_events.js", str(order)])
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert answer["ids"][0] == answer["ids"][1]
    assert answer["ids"][0].startswith("sub_")
    assert answer["truncated"] is False
    assert list(dict.fromkeys(answer["events"])) == [each["taskId"] for each in envelopes]
    assert set(answer["names"]) == {"fact"}
    assert set(answer["statuses"]) <= {200, 204, 503}  # 503: not stored yet by the client
    assert answer["left"] == 0
