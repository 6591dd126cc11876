"""Push notifications of tasks: configurations, and what receivers get."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict

from schemas import uuid5_url
from streams.access import Role
from streams.doors.a2a.push_configs import subscription_id
from streams.doors.push.subscriptions import State, read_delivery
from streams.gateway.app import create_app
from tests.processes import wait_for
from tests.unit.doors.a2a.bench import (
    AT_ONCE,
    BASE,
    EXT,
    OF_DESK,
    TASK,
    A2aBench,
    a2a_bench,
    reply,
    sending,
    start,
)
from tests.unit.doors.push.receivers import HttpReceiver, Received, receiving
from tests.unit.protocols.summit.queries.stage import REPLIES, progress, result
from topology.core import PUSH_DELIVERIES

Json = dict[str, Any]
PUSH: Json = {"gateway_key": "k" * 32, "push_allow": "127.0.0.0/8"}
SECRETS: Json = {
    "token": "seen-only-by-me",
    "authentication": {"scheme": "Bearer", "credentials": "c-1"},
}
CONFIGS = f"/a2a/word-stats/tasks/{TASK}/pushNotificationConfigs"


class Gateway:
    """A gateway that serves while a test works."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        headers = {"A2A-Version": "1.0", **more.pop("headers", {})}
        return await self._http.request(method, path, json=body, headers=headers, **more)

    async def call(self, method: str, params: Json) -> Json:
        """Return the body of the answer to a request of JSON-RPC."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        body: Json = (await self.ask("POST", "/a2a/word-stats", request)).json()
        return body

    async def create(self, url: str, task_id: str = TASK, **more: Any) -> Json:
        body = await self.call(
            "CreateTaskPushNotificationConfig", {"taskId": task_id, "url": url, **more}
        )
        assert "result" in body, body
        config: Json = body["result"]
        return config


@asynccontextmanager
async def gateway_of(bench: A2aBench, token: str | None = None) -> AsyncIterator[Gateway]:
    of = bench.bench
    app = create_app(of.settings, of.bench.log, of.view, clock=lambda: of.bench.now)
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app)
    async with (
        asyncio.timeout(40),
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers, timeout=30) as http,
    ):
        yield Gateway(http)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[A2aBench]:
    with a2a_bench(tmp_path, **PUSH) as each:
        yield each


def run(
    bench: A2aBench,
    work: Callable[[Gateway, HttpReceiver], Awaitable[None]],
    token: str | None = None,
) -> list[Received]:
    """Let `work` use a gateway and a receiver, and return what was received."""

    async def serve() -> list[Received]:
        async with receiving(lambda received: (200, b"")) as receiver:
            async with gateway_of(bench, token) as gateway:
                await work(gateway, receiver)
            return receiver.requests

    return asyncio.run(serve())


def ids_of(requests: list[Received]) -> list[str]:
    return [each.headers["headrace-event-id"] for each in requests]


def test_every_event_of_a_message_is_posted_in_order(bench: A2aBench) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        config = {"id": "hook-1", "url": receiver.url("/h?x=1"), **SECRETS}
        request = sending()
        request["configuration"] = {"returnImmediately": True, "taskPushNotificationConfig": config}
        body = await gateway.call("SendMessage", request)
        assert body["result"]["task"]["id"] == TASK
        await receiver.wait_for(1)
        await asyncio.to_thread(reply, bench, progress(TASK, message="half"), result(TASK))
        await receiver.wait_for(4)

    requests = run(bench, work)
    assert ids_of(requests) == [f"{TASK}/{id}" for id in ("1", "2", "3a", "3")]
    kinds = [list(each.json) for each in requests]
    assert kinds == [["task"], ["statusUpdate"], ["artifactUpdate"], ["statusUpdate"]]
    assert requests[0].json["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert requests[3].json["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert requests[1].json["statusUpdate"]["metadata"][EXT]["id"] == "2"
    for each in requests:
        ParseDict(each.json, a2a_pb2.StreamResponse())
        assert each.path == "/h?x=1"
        assert each.headers["content-type"] == "application/a2a+json"
        assert each.headers["authorization"] == "Bearer c-1"
        assert each.headers["x-a2a-notification-token"] == "seen-only-by-me"
        assert each.headers["a2a-version"] == "1.0"


def test_pushed_events_are_those_of_the_stream(bench: A2aBench) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        request = {**sending(), **AT_ONCE}
        await gateway.call("SendMessage", request)
        await gateway.create(receiver.url())
        await asyncio.to_thread(reply, bench, progress(TASK, message="half"), result(TASK))
        await receiver.wait_for(3)

    requests = run(bench, work)
    response = bench.ask(
        "GET", f"/a2a/word-stats/tasks/{TASK}:subscribe", headers={"Last-Event-ID": "1"}
    )
    streamed = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
    assert [each.body.decode() for each in requests] == streamed[1:]


def test_the_next_gateway_goes_on_where_the_last_one_was(bench: A2aBench) -> None:
    async def work() -> list[Received]:
        async with receiving(lambda received: (200, b"")) as receiver:
            async with gateway_of(bench) as gateway:
                await gateway.call("SendMessage", {**sending(), **AT_ONCE})
                await gateway.create(receiver.url())
                await asyncio.to_thread(reply, bench, progress(TASK, message="half"))
                await receiver.wait_for(1)
            await asyncio.to_thread(
                reply, bench, progress(TASK, "p-2", message="most"), result(TASK)
            )
            async with gateway_of(bench):
                await receiver.wait_until(lambda: f"{TASK}/4" in ids_of(receiver.requests))
            return receiver.requests

    ids = ids_of(asyncio.run(work()))
    assert list(dict.fromkeys(ids)) == [f"{TASK}/{id}" for id in ("2", "3", "4a", "4")]


def test_configurations_are_made_shown_listed_and_removed(bench: A2aBench) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        await gateway.call("SendMessage", {**sending(), **AT_ONCE})
        url = receiver.url()
        made = await gateway.create(url, **SECRETS)
        own_id = uuid5_url(f"headrace:a2a:push:{TASK}/{url}")
        config = {"taskId": TASK, "id": own_id, "url": url, "authentication": {"scheme": "Bearer"}}
        assert made == config
        second = await gateway.ask("POST", CONFIGS, {"id": "hook-2", "url": url})
        assert (second.status_code, second.json()["id"]) == (200, "hook-2")
        listed = (await gateway.ask("GET", CONFIGS)).json()
        assert listed == {"configs": [config, second.json()], "nextPageToken": ""} or listed == {
            "configs": [second.json(), config],
            "nextPageToken": "",
        }
        assert listed["configs"] == sorted(listed["configs"], key=lambda each: each["id"])
        page = (await gateway.ask("GET", f"{CONFIGS}?pageSize=1")).json()
        second_page = (
            await gateway.ask("GET", f"{CONFIGS}?pageSize=1&pageToken={page['nextPageToken']}")
        ).json()
        assert [*page["configs"], *second_page["configs"]] == listed["configs"]
        assert second_page["nextPageToken"] == ""
        assert (await gateway.ask("GET", f"{CONFIGS}/hook-2")).json() == second.json()
        for _ in range(2):
            gone = await gateway.ask("DELETE", f"{CONFIGS}/hook-2")
            assert (gone.status_code, gone.json()) == (200, {})
        deleted = await gateway.call(
            "DeleteTaskPushNotificationConfig", {"taskId": TASK, "id": "hook-2"}
        )
        assert deleted["result"] is None
        missing = await gateway.call(
            "GetTaskPushNotificationConfig", {"taskId": TASK, "id": "hook-2"}
        )
        assert missing["error"]["code"] == -32001

    run(bench, work)


def test_a_configuration_that_is_set_again_replaces_itself(bench: A2aBench) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        await gateway.call("SendMessage", {**sending(), **AT_ONCE})
        await gateway.create(receiver.url("/old"), id="hook")
        await gateway.create(receiver.url("/new"), id="hook")
        listed = (await gateway.ask("GET", CONFIGS)).json()
        assert [each["url"] for each in listed["configs"]] == [receiver.url("/new")]
        await asyncio.to_thread(reply, bench, progress(TASK, message="half"))
        await receiver.wait_for(1)

    assert {each.path for each in run(bench, work)} == {"/new"}


@pytest.mark.parametrize(
    "url",
    ["http://example.com/", "https://10.0.0.1/", "https://169.254.169.254/", "https://u@e.com/"],
)
def test_urls_that_are_refused(bench: A2aBench, url: str) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        await gateway.call("SendMessage", {**sending(), **AT_ONCE})
        params = {"taskId": TASK, "url": url}
        body = await gateway.call("CreateTaskPushNotificationConfig", params)
        error = body["error"]
        assert error["code"] == -32602
        assert error["data"][0]["metadata"]["rule"] == "a2a.push_url"
        request = sending(message_id="m-2")
        request["configuration"] = {"taskPushNotificationConfig": {"url": url}}
        refused = await gateway.call("SendMessage", request)
        assert refused["error"]["data"][0]["metadata"]["rule"] == "a2a.push_url"

    run(bench, work)
    assert len(bench.bench.bench.records("summit.calls")) == 1


@pytest.mark.parametrize(
    "more", [{"token": "a\r\nx: y"}, {"authentication": {"scheme": "B\n", "credentials": "c"}}]
)
def test_values_that_are_no_headers_are_refused(bench: A2aBench, more: Json) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        await gateway.call("SendMessage", {**sending(), **AT_ONCE})
        params = {"taskId": TASK, "url": receiver.url(), **more}
        body = await gateway.call("CreateTaskPushNotificationConfig", params)
        assert body["error"]["data"][0]["metadata"]["rule"] == "a2a.shape"

    run(bench, work)


def test_a_task_has_ten_at_most(bench: A2aBench) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        await gateway.call("SendMessage", {**sending(), **AT_ONCE})
        for number in range(10):
            await gateway.create(receiver.url(), id=f"h-{number}")
        await gateway.create(receiver.url("/again"), id="h-3")
        params = {"taskId": TASK, "url": receiver.url(), "id": "h-10"}
        body = await gateway.call("CreateTaskPushNotificationConfig", params)
        assert body["error"]["data"][0]["metadata"]["rule"] == "a2a.push_limit"

    run(bench, work)


def test_tasks_that_have_ended_or_are_not_there(bench: A2aBench) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        await gateway.call("SendMessage", {**sending(), **AT_ONCE})
        await asyncio.to_thread(reply, bench, result(TASK))
        for task_id, rule, code in ((TASK, "a2a.task_ended", -32004), ("x", "run.unknown", -32001)):
            params = {"taskId": task_id, "url": receiver.url()}
            error = (await gateway.call("CreateTaskPushNotificationConfig", params))["error"]
            assert (error["code"], error["data"][0]["metadata"]["rule"]) == (code, rule)

    assert run(bench, work) == []


def test_a_refused_message_leaves_no_configuration(bench: A2aBench) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        request = sending()
        request["message"]["parts"] = [{"data": {"text": 7}}]
        request["configuration"] = {"taskPushNotificationConfig": {"url": receiver.url()}}
        body = await gateway.call("SendMessage", request)
        assert body["error"]["data"][0]["metadata"]["rule"] == "inputs.schema"
        await gateway.call("SendMessage", {**sending(), **AT_ONCE})
        assert (await gateway.ask("GET", CONFIGS)).json()["configs"] == []

    assert run(bench, work) == []


def test_a_message_with_other_content_leaves_the_configuration_as_it_was(bench: A2aBench) -> None:
    async def work(gateway: Gateway, receiver: HttpReceiver) -> None:
        first, other = sending(), sending(text="other words")
        for request, path in ((first, "/first"), (other, "/other")):
            config = {"id": "hook", "url": receiver.url(path)}
            request["configuration"] = {
                "returnImmediately": True,
                "taskPushNotificationConfig": config,
            }
        assert "result" in await gateway.call("SendMessage", first)
        refused = await gateway.call("SendMessage", other)
        assert refused["error"]["data"][0]["metadata"]["rule"] == "run.conflict"
        listed = (await gateway.ask("GET", CONFIGS)).json()["configs"]
        assert [each["url"] for each in listed] == [receiver.url("/first")]
        again = await gateway.call("SendMessage", first)
        assert again["result"]["task"]["id"] == TASK

    run(bench, work)


def test_without_a_key_there_is_no_push(tmp_path: Path) -> None:
    with a2a_bench(tmp_path) as bench:
        start(bench)
        error = bench.error("ListTaskPushNotificationConfigs", {"taskId": TASK})
        assert (error["code"], error["data"][0]["metadata"]["rule"]) == (-32003, "a2a.push_off")
        card = bench.ask("GET", "/a2a/word-stats/.well-known/agent-card.json").json()
        assert "pushNotifications" not in card["capabilities"]
    with a2a_bench(tmp_path / "second", **PUSH) as bench:
        card = bench.ask("GET", "/a2a/word-stats/.well-known/agent-card.json").json()
        assert card["capabilities"]["pushNotifications"] is True


def test_configurations_are_those_of_the_caller(tmp_path: Path) -> None:
    with a2a_bench(tmp_path, with_tokens=True, **PUSH) as bench:
        desk = bench.new_token(Role.PRODUCER, Role.READER)
        other = bench.new_token(Role.PRODUCER, Role.READER, principal="other")
        path = f"/a2a/word-stats/tasks/{OF_DESK}/pushNotificationConfigs"

        async def work() -> list[Received]:
            async with receiving(lambda received: (200, b"")) as receiver:
                async with gateway_of(bench, desk) as gateway:
                    await gateway.call("SendMessage", {**sending(), **AT_ONCE})
                    await gateway.create(receiver.url(), OF_DESK, id="hook")
                    strange = {"authorization": f"Bearer {other}"}
                    answer = await gateway.ask("GET", f"{path}/hook", headers=strange)
                    assert answer.status_code == 404
                    await asyncio.to_thread(bench.revoke_tokens)
                    bench.bench.bench.now += 60_000
                    await asyncio.to_thread(wait_for, lambda: _has_ended(bench), "it is ended")
                    await asyncio.to_thread(
                        bench.bench.bench.append, REPLIES, progress(OF_DESK, message="half")
                    )
                return receiver.requests

        assert asyncio.run(work()) == []


def _has_ended(bench: A2aBench) -> bool:
    values = [each.value for each in bench.bench.bench.records(PUSH_DELIVERIES.name)]
    deliveries = [read_delivery(value) for value in values if value is not None]
    return any(
        (each.state, each.reason) == (State.ENDED, "terminated")
        for each in deliveries
        if each is not None
    )


def test_ids_are_made_of_who_and_what() -> None:
    id = subscription_id(None, "word-stats", TASK, "hook")
    assert id.startswith("a2a_")
    assert len(id) == 36
    assert id != subscription_id(None, "word-stats", TASK, "hook-2")
