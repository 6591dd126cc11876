"""An ASAP agent that answers calls of tools and resources from a real MCP server."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from schemas.asap import (
    Envelope,
    McpResourceData,
    McpToolResult,
    reply_to,
    task_key,
)
from schemas.asap.payloads import AnyPayload
from streams.agents.cursor_file import start_of, write_cursor
from streams.agents.mcp.calling import check_repeatable, described
from streams.agents.mcp.journal import CallJournal
from streams.agents.mcp.pins import Pins
from streams.client import Client, TailRecord, TailStream
from streams.doors.mcp.foreign_calls import MAX_ERROR_CHARS, CallFailed, Failure
from streams.doors.mcp.foreign_server import ServerDescription
from streams.doors.mcp.foreign_session import ForeignSession
from streams.errors import InvalidInput, OutputTooLarge
from streams.log.cursors import EARLIEST, CursorAhead, CursorExpired, CursorInvalid
from streams.summit.errors import ManifestRejected
from topology.asap import ASAP_ENVELOPES, ASAP_EVENTS, ASAP_INBOX, ASAP_MANIFESTS

Json = dict[str, Any]
ATTEMPTS = 1_000_000
"""An answer is sent until it is on the log."""
MIN_TIMEOUT_S, MAX_TIMEOUT_S = 1.0, 600.0
_CURSOR_EVERY = 1000
"""After so many records of other agents the cursor is written."""
_POLL_S = 0.2
_TOOL_CALL, _FETCH = "McpToolCall", "McpResourceFetch"


def manifest_of_urn(urn: str, server: ServerDescription, tools: list[str], gateway: str) -> Json:
    """Return the manifest of the agent.  tools: their names in MCP.  gateway: HOST:PORT."""
    text = server.instructions or server.title or server.name or "An MCP server."
    return {
        "id": urn,
        "name": server.title or server.name or "mcp",
        "version": _version(server.version),
        "description": text[:MAX_ERROR_CHARS],
        "capabilities": {"mcp_tools": tools},
        "endpoints": {"asap": f"http://{gateway}/asap"},
    }


def _version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        return "0.1.0"
    return text


async def register(client: Client, manifest: Json) -> None:
    """Register an agent, and wait until the service has accepted it or knows it already.

    Raises ManifestRejected, InvalidInput, BrokerUnavailable.
    """
    async with client.tail(ASAP_EVENTS.name) as events:
        position = await client.send(ASAP_MANIFESTS.name, manifest)
        async for record in events:
            event = record.value
            if isinstance(event, dict) and event.get("cause") == position:
                if event["verdict"] == "rejected":
                    raise ManifestRejected(event["rule"], message=event["detail"])
                return


class AsapBridge:
    """The agent.

    pins: by the tools' names in MCP.  cursor_file: the position before which the inbox is answered.
    timeout_s: how long a call may take that names no time of its own.  open_s: how long the service
    keeps a call open.  stop: once it is set, no call is begun, and `run` ends with the last answer.
    """

    def __init__(
        self,
        urn: str,
        session: ForeignSession,
        journal: CallJournal,
        pins: Pins,
        cursor_file: Path,
        *,
        timeout_s: float,
        open_s: float,
        concurrency: int,
        stop: asyncio.Event,
    ) -> None:
        self._urn, self._session, self._journal, self._pins = urn, session, journal, pins
        self._progress = _InboxProgress(cursor_file)
        self._timeout_s, self._open_s = timeout_s, open_s
        self._slots, self._stop = asyncio.Semaphore(concurrency), stop
        self._keys: set[str] = set()
        """The calls that are being answered."""

    async def run(self, client: Client, on_ready: Callable[[], object]) -> None:
        """Answer calls until stopped.  Raises BrokerUnavailable."""
        start = self._progress.start
        async with asyncio.TaskGroup() as group:
            while not self._stop.is_set():
                try:
                    async with client.tail(ASAP_INBOX.name, start=start) as inbox:
                        on_ready()
                        await self._follow(client, inbox, group)
                except (CursorExpired, CursorAhead, CursorInvalid):
                    start = EARLIEST
        self._progress.write()

    async def _follow(self, client: Client, inbox: TailStream, group: asyncio.TaskGroup) -> None:
        while not self._stop.is_set():
            try:
                async with asyncio.timeout(_POLL_S):
                    record = await anext(inbox)
            except TimeoutError:
                continue
            work = None
            if (call := self._call_in(record)) is not None:
                await self._slots.acquire()
                if self._stop.is_set():
                    return
                work = group.create_task(self._answer(client, call, record))
            self._progress.add(record.cursor, work)

    def _call_in(self, record: TailRecord) -> Envelope | None:
        """Return the call of a record, if it is one for this agent that waits for its answer."""
        value = record.value
        if not isinstance(value, dict) or value.get("recipient") != self._urn:
            return None
        envelope = Envelope.model_validate(value)
        if envelope.canonical_type not in (_TOOL_CALL, _FETCH):
            return None
        key = task_key(envelope)
        is_done = key in self._keys or self._journal.is_answered(key)
        return None if is_done or self._left_s(record) <= 0 else envelope

    def _left_s(self, record: TailRecord) -> float:
        """Return how long the service still waits for an answer, in seconds."""
        return (record.timestamp or 0) / 1000 + self._open_s - time.time()

    async def _answer(self, client: Client, call: Envelope, record: TailRecord) -> None:
        key = task_key(call)
        self._keys.add(key)
        try:
            payload = await self._payload(call, key, record)
            try:
                await _send(client, call, key, payload, record.traceparent)
            except (InvalidInput, OutputTooLarge) as exc:
                payload = failure_payload(call, CallFailed(Failure.MCP_TOO_LARGE, str(exc)))
                await _send(client, call, key, payload, record.traceparent)
            self._journal.finish(key)
        finally:
            self._keys.discard(key)
            self._slots.release()

    async def _payload(self, call: Envelope, key: str, record: TailRecord) -> AnyPayload:
        """Ask the server, and return the answer's payload."""
        timeout_s = min(timeout_of(call.payload, self._timeout_s), self._left_s(record))
        try:
            if call.canonical_type == _FETCH:
                uri = call.payload["resource_uri"]
                content = await self._session.read_resource(uri, timeout_s)
                return McpResourceData(resource_uri=uri, content=content)
            result = await self._call_tool(call.payload, key, timeout_s, record.traceparent)
        except CallFailed as exc:
            return failure_payload(call, exc)
        return McpToolResult(request_id=key, success=True, result=result)

    async def _call_tool(
        self, payload: Json, key: str, timeout_s: float, traceparent: str | None
    ) -> Json:
        name = payload["tool_name"]
        check_repeatable(self._journal, key, await self._pins.find(name))
        await self._pins.check(name, await described(self._session))
        await self._journal.begin(key)
        return await self._session.call_tool(
            name, payload["arguments"], timeout_s, traceparent=traceparent
        )


def timeout_of(payload: Json, default_s: float) -> float:
    """Return the seconds that a call may take; those that it names are cut to 1 to 600."""
    timeout_s = (payload.get("mcp_context") or {}).get("timeout_seconds")
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float):
        return default_s
    return min(max(timeout_s, MIN_TIMEOUT_S), MAX_TIMEOUT_S)


def failure_payload(call: Envelope, error: CallFailed) -> AnyPayload:
    """Return the payload that says why a call has no result."""
    text = f"{error.failure.reason}: {error}"[:MAX_ERROR_CHARS]
    if call.canonical_type == _TOOL_CALL:
        request_id = call.payload["request_id"]
        return McpToolResult(request_id=request_id, success=False, error=text)
    content = {"error": {"code": int(error.failure), "message": text}}
    return McpResourceData(resource_uri=call.payload["resource_uri"], content=content)


def answer_envelope(call: Envelope, key: str, payload: AnyPayload) -> Envelope:
    """Return the answer to a call, with the same id whoever makes it again.  key: the call's."""
    answer_id = "mcp-" + hashlib.sha256(key.encode()).hexdigest()[:26]
    return reply_to(call, payload).model_copy(update={"id": answer_id})


async def _send(
    client: Client, call: Envelope, key: str, payload: AnyPayload, traceparent: str | None
) -> None:
    value = answer_envelope(call, key, payload).model_dump(mode="json")
    await client.send(ASAP_ENVELOPES.name, value, traceparent=traceparent, attempts=ATTEMPTS)


class _InboxProgress:
    """The position before which an inbox is answered, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: deque[tuple[str, asyncio.Task[None] | None]] = deque()
        self._unwritten = 0

    @property
    def start(self) -> str:
        return start_of(self._path)

    def add(self, cursor: str, work: asyncio.Task[None] | None) -> None:
        """Note a record that was read.  work: what answers it, None if nothing has to."""
        if self._read and self._read[-1][1] is None and work is None:
            self._read.pop()
        self._read.append((cursor, work))
        self._unwritten += 1
        if work is not None:
            work.add_done_callback(lambda _: self.write())
        elif self._unwritten >= _CURSOR_EVERY:
            self.write()

    def write(self) -> None:
        """Write the position, if it has advanced."""
        cursor = None
        while self._read and _is_done(self._read[0][1]):
            cursor, _ = self._read.popleft()
        if cursor is not None:
            write_cursor(self._path, cursor)
            self._unwritten = 0


def _is_done(work: asyncio.Task[None] | None) -> bool:
    return work is None or (work.done() and not work.cancelled() and work.exception() is None)
