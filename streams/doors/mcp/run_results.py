"""The results of tools of agents: what became of the run that a call made."""

from __future__ import annotations

from typing import Any

import mcp.types as types
from pydantic import ValidationError

from streams.api.agent_tools import AgentTools
from streams.doors.mcp.door import Door
from streams.doors.mcp.records import errors_of
from streams.doors.mcp.results import META, Json, tool_result
from streams.doors.mcp.rules import meaning_of
from streams.doors.mcp.sending import RecordVerdict, read_fact

PENDING = "run.pending"
_POSITION = "Position"
"""How the names of members of evidence end that are positions, which clients see without prefix."""


def places(door: Door, ruling: RecordVerdict | None, cause: str) -> Json:
    """Return the positions of a call and of the fact with its verdict, for `_meta`."""
    places: Json = {f"{META}position": door.short(cause)}
    if ruling is not None and ruling.fact is not None:
        places[f"{META}fact"] = door.short(ruling.fact)
    return places


async def describe_rejection(door: Door, ruling: RecordVerdict, run_id: str, cause: str) -> Json:
    """Return the result of a call that was rejected."""
    fact = await read_fact(door, ruling)
    body = {
        "rule": ruling.rule,
        "rule_meaning": meaning_of(ruling.rule, ruling.protocol),
        "detail": ruling.detail or f"the call is {ruling.verdict}",
        "fault": ruling.fault,
        "errors": [] if fact is None else errors_of(fact["value"]),
        "runId": run_id,
    }
    return tool_result(body, is_error=True, meta=places(door, ruling, cause))


def describe_pending(run_id: str, meta: Json) -> Json:
    """Return the result of a run that has not ended in time."""
    detail = f"the run has not ended; call again with {META}run-id {run_id}, or ask `state`"
    body = {"rule": PENDING, "detail": detail, "runId": run_id}
    return tool_result(body, is_error=True, meta=meta)


def describe_end(door: Door, of: AgentTools, run_id: str, outcome: Json, meta: Json) -> Json:
    """Return the result of a run that has ended.

    outcome: its RunResult or ToolResult.  The tool of a bridge answers as its server does.
    """
    with door.gateway.view.reader() as view:
        about, is_bridged = of.about(view, run_id), of.is_bridged(view, run_id)
    about["evidence"] = {
        name: door.short(value) if name.endswith(_POSITION) and value is not None else value
        for name, value in about["evidence"].items()
    }
    meta = {**meta, f"{META}run": {"runId": run_id, **about}}
    if "error" in outcome:
        return _failure(run_id, outcome["error"] or {}, about["status"], meta)
    output = outcome.get("output")
    if is_bridged and (result := _foreign_result(output)) is not None:
        return {"resultType": "complete", **result, "_meta": meta}
    structured = output if isinstance(output, dict) else {"value": output}
    return tool_result(structured, meta=meta)


def _failure(run_id: str, error: Json, status: str, meta: Json) -> Json:
    """Return the result of a run that failed; its content is the server's, if that has said why."""
    data: Any = error.get("data")
    data = data if isinstance(data, dict) else {}
    detail = str(error.get("message") or f"the run is {status}")
    body = {"rule": data.get("reason"), "detail": detail, "runId": run_id, "error": error}
    result = tool_result({**body, "status": status}, is_error=True, meta=meta)
    foreign = _foreign_result(data.get("mcp"))
    return {**result, "content": foreign["content"]} if foreign and foreign["content"] else result


def _foreign_result(output: Any) -> Json | None:
    """Return the members of a CallToolResult, None for what is none."""
    if not isinstance(output, dict) or "content" not in output:
        return None
    names = ("content", "structuredContent", "isError")
    members = {name: output[name] for name in names if name in output}
    try:
        types.CallToolResult.model_validate(members)
    except ValidationError:
        return None
    return members
