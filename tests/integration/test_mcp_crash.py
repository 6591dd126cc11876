"""A gateway is killed under MCP clients, which go on at another by what they hold themselves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from tests.integration.system import Live, live
from tests.processes import environ_of, named
from tests.unit.protocols.sap.queries.stage import result, task

pytestmark = pytest.mark.slow
Json = dict[str, Any]
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


def verify(system: Live, folder: Path) -> None:
    """Check the whole log as `headrace verify` does."""
    environ = environ_of(named({**system.environ, "STATE_DIR": str(folder / "verify")}))
    command = [sys.executable, "-m", "streams.cli", "verify"]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
