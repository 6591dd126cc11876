"""Gateways and workers are killed under MCP clients, which go on by what they hold themselves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient
from mcp.client import Client

from streams.engine.records import TopicPartition
from tests.integration.mcp_wire import Wire
from tests.integration.system import Live, live
from tests.processes import environ_of, named, wait_for
from tests.unit.protocols.sap.queries.stage import result, task

pytestmark = pytest.mark.slow
Json = dict[str, Any]
VERDICTS: Json = {"name": "verdict", "arguments": {}}
OUTCOMES: Json = {"name": "fact", "arguments": {"topic": "sap.outcomes"}}


def call(system: Live, *calls: tuple[str, Json]) -> list[Json]:
    """Return what the tools answer to one client, each in its turn."""

    async def work() -> list[Json]:
        async with Client(f"{system.url}/mcp", read_timeout_seconds=120) as client:
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            return [each.structured_content for each in results]

    return asyncio.run(work())


def sending(topic: str, envelope: Json, **more: Any) -> tuple[str, Json]:
    return "send", {"topic": topic, "envelope": envelope, "wait_s": 50, **more}


def test_a_killed_gateway_loses_no_event_and_no_result(broker: str, tmp_path: Path) -> None:
    first, second = task(1), task(2)
    with live(broker, tmp_path, SAP_MAX_WAIT_S="60") as system:
        begun, sent = call(system, ("events", OUTCOMES), sending("sap.tasks", first))
        assert sent["verdict"] == "accepted", sent
        call(system, sending("sap.results", result(first)))
        system.gateway.kill()
        system.start_gateway()
        again, _, page = call(
            system,
            sending("sap.tasks", first, wait="outcome"),
            sending("sap.tasks", second),
            ("events", {**OUTCOMES, "cursor": begun["cursor"], "wait_s": 50}),
        )
        assert (again["verdict"], again["outcome"]["status"]) == ("duplicate", "SUCCEEDED"), again
        (event,) = page["events"]
        assert event["data"]["value"]["taskId"] == first["taskId"]
        system.gateway.kill()
        system.start_gateway()
        call(system, sending("sap.results", result(second)))
        (page,) = call(system, ("events", {**OUTCOMES, "cursor": page["cursor"], "wait_s": 50}))
        assert [each["data"]["value"]["taskId"] for each in page["events"]] == [second["taskId"]]
        verify(system, tmp_path)


def test_two_gateways_and_a_log_whose_start_moved_continue_a_cursor(
    broker: str, tmp_path: Path
) -> None:
    acks: Json = {"name": "fact", "arguments": {"topic": "sap.acks"}}
    envelopes = [task(number) for number in range(12)]
    with live(broker, tmp_path, SAP_MAX_WAIT_S="60") as system:
        system.start_gateway()
        gateways = [Wire(url) for url in system.urls()]
        assert len(gateways) == 2
        start = cursor = gateways[0].ask("events/poll", acks)["cursor"]
        ids: list[str] = []
        for number, envelope in enumerate(envelopes):
            gateways[number % 2].send("sap.tasks", envelope)
            page = gateways[(number + 1) % 2].ask("events/poll", {**acks, "cursor": cursor})
            assert page["truncated"] is False
            ids += [each["data"]["value"]["taskId"] for each in page["events"]]
            cursor = page["cursor"]
        assert ids == [each["taskId"] for each in envelopes]
        first_kept = delete_half(system, "sap.acks")
        for gateway in gateways:
            page = gateway.ask("events/poll", {**acks, "cursor": start})
            assert page["truncated"] is True
            left = [each["eventId"].split("/")[1:] for each in page["events"]]
            assert left
            assert all(int(offset) >= first_kept[int(number)] for number, offset in left)
            page = gateway.ask("events/poll", {**acks, "cursor": cursor})
            assert (page["events"], page["truncated"]) == ([], False)


def delete_half(system: Live, topic: str) -> dict[int, int]:
    """Delete the first records of each partition, and return the offsets of those that are left."""
    name = system.prefix + topic
    tps = [TopicPartition(name, number) for number in range(system.settings.partitions)]
    starts = {tp.partition: (end + 1) // 2 for tp, end in system.log.ends(tps).items()}
    admin = AdminClient({"bootstrap.servers": system.environ["BOOTSTRAP"]})
    deleted = admin.delete_records([KafkaPartition(name, *each) for each in starts.items()])
    for future in deleted.values():
        future.result(30)
    return starts


class Follower:
    """A client of `events/stream` that comes back with its last cursor."""

    def __init__(self, topic: str) -> None:
        self._params: Json = {"name": "fact", "arguments": {"topic": topic}}
        self.events: list[Json] = []

    @contextmanager
    def follow(self, system: Live) -> Iterator[Iterator[Json]]:
        """Yield the events from the cursor on, which are kept too.  They raise TransportError."""
        with Wire(system.url).open("events/stream", self._params) as messages:
            active = next(messages)["params"]
            assert active["truncated"] is False
            assert active["cursor"] == self._params.setdefault("cursor", active["cursor"])
            yield self._keep(messages)

    def _keep(self, messages: Iterator[Json]) -> Iterator[Json]:
        for each in messages:
            self._params["cursor"] = each["params"]["cursor"]
            if each["method"] == "notifications/events/event":
                self.events.append(each["params"])
                yield each["params"]

    @property
    def task_ids(self) -> list[str]:
        return [each["data"]["value"]["taskId"] for each in self.events]


def test_a_gateway_killed_in_a_stream_leaves_no_gap_and_no_event_twice(
    broker: str, tmp_path: Path
) -> None:
    follower, envelopes = Follower("sap.acks"), [task(number) for number in range(40)]
    with live(broker, tmp_path, SAP_MAX_WAIT_S="60") as system:
        with follower.follow(system) as events, suppress(httpx.TransportError):
            with system.client as http:
                for envelope in envelopes[:30]:
                    http.post("/v1/sap/tasks", json=envelope)
            for number, _ in enumerate(events):
                if number == 10:
                    system.gateway.kill()
        assert len(follower.events) > 10
        system.start_gateway()
        with system.client as http:
            for envelope in envelopes[30:]:
                http.post("/v1/sap/tasks", json=envelope)
        with follower.follow(system) as events:
            while len(follower.events) < len(envelopes):
                next(events)
        assert sorted(follower.task_ids) == sorted(each["taskId"] for each in envelopes)
        ids = [each["eventId"] for each in follower.events]
        assert len(ids) == len({*ids})
        verify(system, tmp_path)


def test_a_client_that_is_cut_off_gets_the_result_of_its_task(broker: str, tmp_path: Path) -> None:
    envelope, outcomes = task(), Follower("sap.outcomes")
    with live(broker, tmp_path, SAP_MAX_WAIT_S="60", MCP_TASK_AFTER_MS="0") as system:
        created = Wire(system.url).send("sap.tasks", envelope, "outcome")
        assert (created["resultType"], created["status"]) == ("task", "working")
        with outcomes.follow(system) as events:
            system.gateway.kill()
            with pytest.raises((httpx.TransportError, StopIteration)):
                next(events)
        system.start_gateway()
        back = Wire(system.url)
        assert back.task(created["taskId"])["status"] == "working"
        back.send("sap.results", result(envelope))
        with outcomes.follow(system) as events:
            assert next(events)["data"]["value"]["status"] == "SUCCEEDED"
        assert outcomes.task_ids == [envelope["taskId"]]
        answer = back.task(created["taskId"])
        assert answer["status"] == "completed"
        assert answer["result"]["structuredContent"]["outcome"]["taskId"] == envelope["taskId"]
        verify(system, tmp_path)


def test_a_worker_killed_under_a_task_gives_its_result_once(broker: str, tmp_path: Path) -> None:
    envelope, outcomes = task(), Follower("sap.outcomes")
    with live(broker, tmp_path, SAP_MAX_WAIT_S="120", MCP_TASK_AFTER_MS="0") as system:
        wire = Wire(system.url)
        with outcomes.follow(system) as events:
            created = wire.send("sap.tasks", envelope, "outcome")
            system.worker.kill()
            wire.send("sap.results", result(envelope), "none")
            wire.send("sap.results", result(envelope), "none")
            assert wire.task(created["taskId"])["status"] == "working"
            system.restart_worker()
            assert next(events)["data"]["value"]["status"] == "SUCCEEDED"
            wait_for(
                lambda: wire.task(created["taskId"])["status"] == "completed",
                "the task has its result",
            )
            (page,) = call(system, ("events", VERDICTS))
            wire.send("sap.tasks", envelope)
            (page,) = call(system, ("events", {**VERDICTS, "cursor": page["cursor"]}))
        assert [each["data"]["verdict"] for each in page["events"]] == ["duplicate"]
        assert outcomes.task_ids == [envelope["taskId"]]
        verify(system, tmp_path)


def verify(system: Live, folder: Path) -> None:
    """Check the whole log as `headrace verify` does."""
    environ = environ_of(named({**system.environ, "STATE_DIR": str(folder / "verify")}))
    command = [sys.executable, "-m", "streams.cli", "verify"]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
