"""Tests of SAP over MCP: a task, its acknowledgement, its result and its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client import Client

from tests.unit.doors.mcp.bench import Json, McpBench, mcp_bench
from tests.unit.protocols.sap.queries.stage import result, signal, task

TASKS, RESULTS, SIGNALS = "sap.tasks", "sap.results", "sap.signals"
INBOX: Json = {"protocol": "sap", "agent": "report.summarise"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    with mcp_bench(tmp_path_factory.mktemp("mcp")) as bench:
        yield bench


async def send(client: Client, topic: str, envelope: Json, wait: str = "verdict") -> Any:
    arguments = {"topic": topic, "envelope": envelope, "wait": wait, "wait_s": 50}
    return await client.call_tool("send", arguments)


async def await_event(client: Client, name: str, filters: Json, cursor: str | None) -> Json:
    arguments: Json = {"name": name, "arguments": filters, "wait_s": 50 if cursor else 0}
    if cursor is not None:
        arguments["cursor"] = cursor
    answer: Json = (await client.call_tool("events", arguments)).structured_content
    return answer


def test_the_acknowledgement_repeats_the_ids_of_the_task(bench: McpBench) -> None:
    envelope = task(1)
    outcome = bench.use(lambda client: send(client, TASKS, envelope))
    body = outcome.structured_content
    assert (body["verdict"], body["node"]) == ("accepted", f"sap:task:{envelope['taskId']}")
    assert (body["fact"]["value"]["status"], body["ended"]) == ("ACK", False)
    assert outcome.meta["dev.headrace/task-id"] == envelope["taskId"]
    assert outcome.meta["dev.headrace/correlation-id"] == envelope["correlationId"]


def test_a_task_is_worked_on_by_an_agent_that_speaks_mcp_too(bench: McpBench) -> None:
    """Wake the agent by the message in its inbox, while the issuer waits for the outcome."""
    envelope = task(2)

    async def work(client: Client) -> tuple[Any, Json, Json]:
        start = (await await_event(client, "inbox", INBOX, None))["cursor"]
        issued = asyncio.create_task(send(client, TASKS, envelope, "outcome"))
        message = await await_event(client, "inbox", INBOX, start)
        reported = await send(client, RESULTS, result(envelope))
        return await issued, message, reported.structured_content

    issued, message, reported = bench.use(work)
    (event,) = message["events"]
    assert event["data"]["value"]["taskId"] == envelope["taskId"]
    assert reported["verdict"] == "accepted"
    body = issued.structured_content
    assert not issued.is_error
    assert (body["state"], body["ended"]) == ("SUCCEEDED", True)
    assert body["outcome"]["taskId"] == envelope["taskId"]
    assert body["outcome"]["status"] == "SUCCEEDED"


def test_a_client_that_was_cut_off_comes_back_by_its_cursor(bench: McpBench) -> None:
    """Go on as another client, at another gateway that knows nothing of the first."""
    envelope = task(3)
    topic: Json = {"topic": "sap.outcomes"}
    cursor = bench.use(lambda client: await_event(client, "fact", topic, None))["cursor"]
    bench.use(lambda client: send(client, TASKS, envelope))
    bench.use(lambda client: send(client, RESULTS, result(envelope)))
    page = bench.use(lambda client: await_event(client, "fact", topic, cursor))
    (event,) = page["events"]
    assert event["data"]["value"]["taskId"] == envelope["taskId"]
    assert event["data"]["value"]["status"] == "SUCCEEDED"
    state = bench.call("state", node=f"sap:task:{envelope['taskId']}").structured_content
    assert state["state"]["state"] == "SUCCEEDED"


def test_a_failed_task_is_an_error(bench: McpBench) -> None:
    envelope = task(4)
    failure = result(envelope, "FAILED", error={"code": "E_MODEL", "message": "no answer"})

    async def work(client: Client) -> Any:
        await send(client, TASKS, envelope)
        await send(client, RESULTS, failure)
        return await send(client, TASKS, envelope, "outcome")

    again = bench.use(work)
    assert again.is_error, again.structured_content
    assert again.structured_content["outcome"]["status"] == "FAILED"


def test_a_task_is_cancelled_by_a_signal(bench: McpBench) -> None:
    envelope = task(5)

    async def work(client: Client) -> Any:
        await send(client, TASKS, envelope)
        await send(client, SIGNALS, signal(envelope, 5, "cancel"))
        return await client.call_tool("state", {"node": f"sap:task:{envelope['taskId']}"})

    state = bench.use(work).structured_content["state"]
    assert (state["state"], state["terminal"]) == ("CANCELLED", True)


def test_an_outcome_that_does_not_come_in_time(bench: McpBench) -> None:
    arguments: Json = {"topic": TASKS, "envelope": task(6), "wait": "outcome", "wait_s": 0.5}
    body = bench.call("send", **arguments).structured_content
    assert (body["verdict"], body["ended"], body["outcome"]) == ("accepted", False, None)
