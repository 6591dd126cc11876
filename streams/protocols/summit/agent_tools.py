"""The agents and tools of manifests in force, as doors show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.summit import run_result
from schemas.summit.words import TOOL
from streams.api.agent_tools import AgentTool, AgentTools, CallContext, Json
from streams.protocols.summit.queries.agents import each_registered, find
from streams.protocols.summit.queries.runs import require_row
from streams.protocols.summit.settings import SummitSettings
from streams.settings.service import ServiceSettings
from streams.views.reads import ReadOnlyStore
from topology.keys import composite
from topology.summit import SUMMIT_AGENTS, SUMMIT_CALLS

INVOKE, TOOL_CALL, CANCEL = "agent.invoke", "tool.call", "agent.cancel"
_ABOUT = ("status", "metrics", "provenance", "verification")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def list_tools(view: ReadOnlyStore) -> Iterator[AgentTool]:
    """Yield each registered agent, and then its tools by name."""
    for row in each_registered(view):
        manifest = row["manifest"]
        metadata, spec = manifest["metadata"], manifest["spec"]
        about = row["agentId"], row["version"], row["manifestHash"]
        interface = spec["interface"]
        description = metadata.get("description") or f"Calls the agent {row['agentId']}."
        yield AgentTool(
            *about, None, description, interface["inputSchema"], interface["outputSchema"]
        )
        for tool in sorted(spec.get("tools") or (), key=lambda each: str(each["name"])):
            yield AgentTool(
                *about,
                tool["name"],
                tool.get("description") or "",
                tool["arguments"],
                None,
                _annotations(metadata, tool["name"]),
            )


def _annotations(metadata: Json, tool: str) -> Json | None:
    """Return what `metadata.mcp` says of a tool, which anybody may have written."""
    member: Any = metadata
    for name in ("mcp", "tools", tool, "annotations"):
        member = member.get(name) if isinstance(member, dict) else None
    if not isinstance(member, dict):
        return None
    hints = {name: member[name] for name in _HINTS if isinstance(member.get(name), bool)}
    title = {"title": member["title"]} if isinstance(member.get("title"), str) else {}
    return {**title, **hints} or None


def about(view: ReadOnlyStore, run_id: str) -> Json:
    """Return what the RunResult says of a run beside its output, and the evidence of its row."""
    row = require_row(view, run_id)
    result = run_result(row)
    return {name: result[name] for name in _ABOUT if name in result} | {"evidence": row["evidence"]}


def is_bridged(view: ReadOnlyStore, run_id: str) -> bool:
    """Return whether a run calls a tool of an agent whose manifest has `metadata.mcp`."""
    row = require_row(view, run_id)
    agent = find(view, row["agentId"]) if row["kind"] == TOOL else None
    return agent is not None and isinstance(agent["manifest"]["metadata"].get("mcp"), dict)


def make_call(tool: AgentTool, arguments: Mapping[str, Any], context: CallContext) -> Json:
    """Return the SummitCall that runs a tool, or an agent."""
    members = {
        "parentRunId": context.parent_run_id,
        "traceId": context.trace_id,
        "budget": None if context.budget is None else dict(context.budget),
    }
    params: Json = {"agentId": tool.agent_id, "runId": context.run_id}
    known = {name: value for name, value in members.items() if value is not None}
    if known:
        params["context"] = known
    if tool.name is None:
        return _request(INVOKE, {**params, "inputs": dict(arguments)}, context.run_id)
    named = {"id": context.run_id, "name": tool.name, "arguments": dict(arguments)}
    return _request(TOOL_CALL, {**params, "toolCall": named}, context.run_id)


def make_cancel(run_id: str, reason: str) -> Json:
    """Return the SummitCall that cancels a run."""
    return _request(CANCEL, {"runId": run_id, "reason": reason}, f"{run_id}-cancel")


def _request(method: str, params: Json, id: str) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def node_of(run_id: str) -> str:
    return f"summit:run:{composite(run_id)}"


def manifest_of(tool: AgentTool) -> str:
    return f"summit:manifest:{composite(tool.agent_id, tool.version)}"


def wait_s(settings: ServiceSettings, wish: float | None) -> float:
    """Return how long a call waits for the end of its run, in seconds."""
    summit = SummitSettings.of(settings)
    return summit.summit_wait_s if wish is None else min(wish, summit.summit_wait_max_s)


TOOLS = AgentTools(
    topic=SUMMIT_CALLS,
    list=list_tools,
    call=make_call,
    cancel=make_cancel,
    node=node_of,
    about=about,
    is_bridged=is_bridged,
    manifest=manifest_of,
    changes=SUMMIT_AGENTS,
    wait_s=wait_s,
)
