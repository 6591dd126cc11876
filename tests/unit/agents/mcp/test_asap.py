"""Tests of the ASAP agent that calls a real MCP server, over a client that is made up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import pytest

from schemas import from_json
from schemas.asap import (
    Envelope,
    McpResourceFetch,
    McpToolCall,
    judge,
    make_envelope,
    validate_manifest,
)
from streams.agents.mcp.asap import AsapBridge, manifest_of_urn, register, timeout_of
from streams.agents.mcp.journal import CallJournal
from streams.agents.mcp.pins import Pins, pins_by_mcp_name
from streams.client import Client, TailRecord
from streams.doors.mcp.foreign_server import ServerDescription
from streams.log.cursors import LATEST
from streams.summit.errors import ManifestRejected
from tests.unit.agents.mcp.server import CountingServer, session_of
from topology.asap import ASAP_ENVELOPES

Json = dict[str, Any]
DOCS, PLANNER = "urn:asap:agent:docs", "urn:asap:agent:planner"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def tool_call(request_id: str, name: str = "pay", **members: Any) -> Envelope:
    call = McpToolCall(request_id=request_id, tool_name=name, arguments={"amount": 3}, **members)
    return make_envelope(call, sender=PLANNER, recipient=DOCS, id=f"e-{request_id}")


class Inbox:
    """A client: it has one inbox, and collects the answers.  It stops the bridge at its end."""

    def __init__(self, envelopes: Sequence[Envelope], stop: asyncio.Event, age_s: float) -> None:
        at_ms = int((time.time() - age_s) * 1000)
        self._records = [
            TailRecord(each.model_dump(mode="json"), "asap.inbox", 0, i, at_ms, f"0:{i}", TRACE)
            for i, each in enumerate(envelopes)
        ]
        self._stop = stop
        self.answers: list[Envelope] = []
        self.starts: list[str] = []
        self.traces: list[str | None] = []

    def tail(self, topic: str, start: str) -> Inbox:
        self.starts.append(start)
        return self

    async def __aenter__(self) -> Inbox:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        pass

    async def __anext__(self) -> TailRecord:
        if not self._records:
            self._stop.set()
            raise TimeoutError
        return self._records.pop(0)

    async def send(
        self, topic: str, value: Any, *, traceparent: str | None = None, attempts: int = 1
    ) -> str:
        assert (topic, attempts > 1000) == ("asap.envelopes", True)
        self.answers.append(Envelope.model_validate(value))
        self.traces.append(traceparent)
        return f"asap.envelopes/0/{len(self.answers)}"


def bridged(
    server: CountingServer, folder: Path, *envelopes: Envelope, age_s: float = 0.0
) -> Inbox:
    """Answer these envelopes, in a process of its own so to say: the files alone stay."""

    async def play() -> Inbox:
        stop = asyncio.Event()
        inbox = Inbox(envelopes, stop, age_s)
        journal = CallJournal(folder / "calls.jsonl")
        async with session_of(server) as session:
            pins = Pins(pins_by_mcp_name(await session.connect()))
            bridge = AsapBridge(
                DOCS,
                session,
                journal,
                pins,
                folder / "docs.cursor",
                timeout_s=30.0,
                open_s=600.0,
                concurrency=2,
                stop=stop,
            )
            await bridge.run(cast("Client", inbox), lambda: None)
        journal.close()
        return inbox

    return asyncio.run(play())


def test_a_call_is_answered_with_the_result_of_the_tool(tmp_path: Path) -> None:
    server = CountingServer()
    inbox = bridged(server, tmp_path, tool_call("c-1"), tool_call("c-2", "look"))
    answers = {each.payload["request_id"]: each for each in inbox.answers}
    answer = answers["c-1"]
    assert (answer.canonical_type, answer.correlation_id) == ("McpToolResult", "e-c-1")
    assert (answer.sender, answer.recipient) == (DOCS, PLANNER)
    assert answer.payload["success"]
    assert answer.payload["result"]["structuredContent"]["arguments"] == {"amount": 3}
    assert (len(answer.id), answer.id[:4]) == (30, "mcp-")
    record = from_json(str(ASAP_ENVELOPES.record), answer.model_dump(mode="json"))
    assert judge(record).problems == []
    assert (sorted(server.calls), inbox.traces) == (["look", "pay"], [TRACE, TRACE])
    assert (tmp_path / "docs.cursor").read_text() == "0:1"
    assert bridged(server, tmp_path).starts == ["0:1"]


def test_a_resource_is_read(tmp_path: Path) -> None:
    fetch = McpResourceFetch(resource_uri="note://one")
    envelope = make_envelope(fetch, sender=PLANNER, recipient=DOCS, id="e-1")
    (answer,) = bridged(CountingServer(), tmp_path, envelope).answers
    assert answer.canonical_type == "McpResourceData"
    (content,) = answer.payload["content"]["contents"]
    assert (content["uri"], content["text"]) == ("note://one", "all of it")


def test_a_call_that_fails_is_answered_with_its_reason(tmp_path: Path) -> None:
    (answer,) = bridged(CountingServer(), tmp_path, tool_call("c-1", "unknown")).answers
    assert not answer.payload["success"]
    assert answer.payload["error"].startswith("mcp_changed: ")


def test_a_call_that_a_crash_left_open_is_repeated_only_if_that_is_harmless(tmp_path: Path) -> None:
    """Answers have the id that follows from the request, so the log has one."""
    server = CountingServer()
    journal = CallJournal(tmp_path / "calls.jsonl")
    for key in ("c-1", "c-2", "c-3"):
        asyncio.run(journal.begin(key))
    journal.finish("c-3")
    journal.close()
    calls = [tool_call("c-1"), tool_call("c-2", "look"), tool_call("c-3", "look")]
    answers = {
        each.payload["request_id"]: each for each in bridged(server, tmp_path, *calls).answers
    }
    assert answers.keys() == {"c-1", "c-2"}
    assert answers["c-1"].payload["error"].startswith("mcp_in_doubt: ")
    assert answers["c-2"].payload["success"]
    assert server.calls == ["look"]


def test_what_is_no_open_call_to_this_agent_is_left_alone(tmp_path: Path) -> None:
    server = CountingServer()
    assert bridged(server, tmp_path, tool_call("c-1"), age_s=601.0).answers == []
    other = tool_call("c-2").model_copy(update={"recipient": PLANNER})
    answer = make_envelope(
        McpResourceFetch(resource_uri="a:b"), sender=PLANNER, recipient=PLANNER, id="e-3"
    )
    assert bridged(server, tmp_path, other, answer).answers == []
    assert server.calls == []


@pytest.mark.parametrize(
    ("context", "seconds"),
    [
        (None, 120.0),
        ({}, 120.0),
        ({"timeout_seconds": "9"}, 120.0),
        ({"timeout_seconds": 2.5}, 2.5),
        ({"timeout_seconds": 0.5}, 1.0),
        ({"timeout_seconds": 700}, 600.0),
    ],
)
def test_a_call_may_name_its_time(context: Json | None, seconds: float) -> None:
    assert timeout_of({"mcp_context": context}, 120.0) == seconds


@pytest.mark.parametrize(("version", "named"), [("1.2", "1.2"), ("2026/08", "0.1.0")])
def test_the_manifest_lists_the_tools(version: str, named: str) -> None:
    server = ServerDescription("Docs", version, None, "x" * 5000, "2025-11-25", ())
    manifest = manifest_of_urn(DOCS, server, ["read", "list"], "127.0.0.1:8640")
    assert validate_manifest(manifest) == []
    assert manifest["version"] == named
    assert manifest["capabilities"]["mcp_tools"] == ["read", "list"]
    assert manifest["endpoints"]["asap"] == "http://127.0.0.1:8640/asap"


class Registry(Inbox):
    """A client whose manifest gets a verdict, after one on another's."""

    def __init__(self, verdict: str) -> None:
        super().__init__((), asyncio.Event(), 0.0)
        self.sent: list[tuple[str, Any]] = []
        self._verdict = verdict

    def tail(self, topic: str, start: str = LATEST) -> Inbox:
        assert topic == "asap.events"
        return super().tail(topic, start)

    def __aiter__(self) -> Registry:
        return self

    async def send(
        self, topic: str, value: Any, *, traceparent: str | None = None, attempts: int = 1
    ) -> str:
        self.sent.append((topic, value))
        causes = {"asap.manifests/0/6": "rejected", "asap.manifests/0/7": self._verdict}
        for cause, verdict in causes.items():
            event = {"cause": cause, "verdict": verdict, "rule": "bad_manifest", "detail": "No."}
            self._records.append(TailRecord(event, "asap.events", 0, 0, 0, "0:0"))
        return "asap.manifests/0/7"


@pytest.mark.parametrize("verdict", ["accepted", "duplicate"])
def test_an_agent_waits_until_its_manifest_is_accepted(verdict: str) -> None:
    client = Registry(verdict)
    asyncio.run(register(cast("Client", client), {"id": DOCS}))
    assert client.sent == [("asap.manifests", {"id": DOCS})]
    assert client.starts == [LATEST]


def test_a_rejected_manifest_is_an_error() -> None:
    with pytest.raises(ManifestRejected) as caught:
        asyncio.run(register(cast("Client", Registry("rejected")), {"id": DOCS}))
    assert (caught.value.rule, str(caught.value)) == ("bad_manifest", "No.")
