"""The tools of registered agents as tools of MCP: each call is a judged, recorded run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from streams.access.callers import Role
from streams.api.agent_tools import AgentTool, AgentTools, CallContext
from streams.doors.mcp.door import Door, ToolCall
from streams.doors.mcp.results import META, Json, refused
from streams.doors.mcp.run_results import describe_end, describe_pending, describe_rejection, places
from streams.doors.mcp.schemas import or_refusal
from streams.doors.mcp.sending import REFUSED, await_ruling, produce
from streams.doors.mcp.tasks import try_task
from streams.doors.mcp.waiting import Deadline, await_outcome, find_awaited
from streams.engine.headers import TRACEPARENT, trace_id
from streams.gateway.caller import get_caller
from streams.protocols.queries import QUERIES

OFFERED: tuple[AgentTools, ...] = tuple(
    side.agent_tools for side in QUERIES if side.agent_tools is not None
)
_MOST_NAME = 64
_CUT = 55
_DIGITS = 8
ANNOTATIONS: Json = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""What hosts are to expect of an agent of which nothing is known."""
_GONE = "the client went away"
_cancelling: set[asyncio.Task[None]] = set()


class OfferedTool(NamedTuple):
    """A tool under the name by which MCP hosts call it."""

    name: str
    tool: AgentTool
    of: AgentTools

    @property
    def meta(self) -> Json:
        """Return which agent it is, of which manifest."""
        tool = self.tool
        agent = {
            "agentId": tool.agent_id,
            "version": tool.version,
            "manifestHash": tool.manifest_hash,
            "tool": tool.name,
        }
        return {f"{META}agent": agent}

    @property
    def returns(self) -> Json | None:
        """Return the schema of `structuredContent`, if every answer keeps it."""
        schema = self.tool.returns
        is_object = schema is not None and schema.get("type") == "object"
        return or_refusal(schema) if schema is not None and is_object else None


def name_of(tool: AgentTool) -> str:
    """Return the name of a tool: hosts allow 64 characters, so a longer one ends with a hash."""
    name = f"run_{tool.agent_id}" if tool.name is None else f"{tool.agent_id}__{tool.name}"
    if len(name) <= _MOST_NAME:
        return name
    return f"{name[:_CUT]}-{sha256(name.encode()).hexdigest()[:_DIGITS]}"


def list_offered(door: Door) -> list[OfferedTool]:
    """Return the tools that the caller may run, by agent.  Raises ViewNotReady."""
    caller = get_caller()
    if caller is not None and not caller.has((Role.PRODUCER,)):
        return []
    with door.gateway.view.reader() as view:
        return [OfferedTool(name_of(each), each, of) for of in OFFERED for each in of.list(view)]


def list_manifests(door: Door) -> list[tuple[str, AgentTool]]:
    """Return the node of the manifest of each registered agent, by agent.  Raises ViewNotReady."""
    with door.gateway.view.reader() as view:
        return [
            (of.manifest(each), each)
            for of in OFFERED
            for each in of.list(view)
            if each.name is None
        ]


def find_offered(door: Door, name: str) -> OfferedTool | None:
    """Return the tool of that name, None if no registered agent offers it."""
    return next((each for each in list_offered(door) if each.name == name), None)


async def run(offered: OfferedTool, call: ToolCall) -> Json:
    """Call the agent, and return its output once the run has ended.  Raises ToolRefused."""
    door, of = call.door, offered.of
    context = _context_of(door, call.meta)
    is_own = _text_in(call.meta, "run-id") is None
    deadline = Deadline(of.wait_s(door.settings, _number_in(call.meta, "wait-s")))
    envelope = of.call(offered.tool, call.arguments, context)
    producing = asyncio.create_task(produce(door, of.topic, envelope, call.meta))
    try:
        cause = await asyncio.shield(producing)
        ruling = await await_ruling(door, cause, deadline.left_s())
        if ruling is not None and ruling.verdict in REFUSED:
            return await describe_rejection(door, ruling, context.run_id, cause)
        outcome, meta = None, {**places(door, ruling, cause), **offered.meta}
        if ruling is not None:
            awaited = find_awaited(door, of.node(context.run_id))
            task = await try_task(door, awaited, call.client, meta, by_send=False)
            if task is not None:
                return task
            outcome = await await_outcome(door, awaited, deadline.left_s(), call.client.report)
    except asyncio.CancelledError:
        if is_own:  # nobody else knows the id, so nobody can ask for the run
            _cancel(door, of, context.run_id, producing)
        raise
    if outcome is None:
        return describe_pending(context.run_id, meta)
    return describe_end(door, of, context.run_id, outcome, meta)


def _context_of(door: Door, meta: Mapping[str, Any]) -> CallContext:
    """Return what `_meta` says of the run; the door makes an id where there is none."""
    budget, run_id = meta.get(f"{META}budget"), _text_in(meta, "run-id")
    if budget is not None and not isinstance(budget, dict):
        raise refused(
            422, f"{META}budget is an object", "arguments_invalid", f"/_meta/{META}budget"
        )
    trace, context = _text_in(meta, "trace-id"), meta.get(TRACEPARENT)
    if trace is None and run_id is None and isinstance(context, str):
        trace = trace_id(context.encode(errors="replace"))
    return CallContext(
        run_id or door.new_run_id(),
        _text_in(meta, "parent-run-id"),
        trace,
        budget,
    )


def _text_in(meta: Mapping[str, Any], name: str) -> str | None:
    value = meta.get(f"{META}{name}")
    if value is not None and not (isinstance(value, str) and value):
        raise refused(422, f"{META}{name} is a text", "arguments_invalid", f"/_meta/{name}")
    return value


def _number_in(meta: Mapping[str, Any], name: str) -> float | None:
    value = meta.get(f"{META}{name}")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise refused(422, f"{META}{name} is a number", "arguments_invalid", f"/_meta/{name}")
    return None if value is None else max(0.0, float(value))


def _cancel(door: Door, of: AgentTools, run_id: str, producing: asyncio.Task[str]) -> None:
    """Send the cancellation of a run once its call is written; nobody waits for that."""

    async def cancel() -> None:
        await producing
        await produce(door, of.topic, of.cancel(run_id, _GONE), {})

    task = asyncio.create_task(cancel())
    _cancelling.add(task)
    task.add_done_callback(_forget)


def _forget(task: asyncio.Task[None]) -> None:
    _cancelling.discard(task)
    if not task.cancelled():
        task.exception()  # the run then ends by its own limits


def page_of(names: Sequence[str], cursor: str | None, size: int) -> tuple[int, str | None]:
    """Return where a page of a list begins, and the cursor of the next; a cursor is a name.

    Raises KeyError for a cursor that is none.
    """
    begin = 0
    if cursor is not None:
        begin = {name: n for n, name in enumerate(names)}[cursor] + 1
    after = begin + size
    return begin, names[after - 1] if after < len(names) else None
