"""Completion of the arguments of prompts and resources."""

from __future__ import annotations

from typing import NamedTuple

from streams.access.callers import Role
from streams.doors.mcp.door import Door
from streams.doors.mcp.results import ToolRefused
from streams.doors.mcp.rules import rules_by_code
from streams.gateway.caller import get_caller
from streams.log.records import is_hidden
from streams.routes.things import KINDS
from streams.view_store.graph.queries import WAYS
from topology import topics

MOST = 100
_SHORTEST = 3
_TRACE = "trace:"


class Completed(NamedTuple):
    """Values that begin with what was typed.  has_more: there are further ones."""

    values: list[str]
    has_more: bool


async def complete(door: Door, argument: str, typed: str) -> Completed:
    """Return at most 100 values of an argument; none for what has no values to offer."""
    caller = get_caller()
    if caller is not None and not caller.has((Role.READER,)):
        return Completed([], False)
    match argument:
        case "topic":
            values = [topic.name for topic in topics.ALL if not is_hidden(topic)]
        case "rule":
            values = sorted(rules_by_code())
        case "direction":
            values = sorted(WAYS)
        case "node":
            values = [f"{kind}:" for kind in KINDS] + await _nodes(door, typed)
        case "session_id":
            values = await _ids(door, "saop:session:", typed)
        case "trace_id":
            values = await _ids(door, _TRACE, typed)
        case _:
            values = []
    matching = [value for value in values if value.startswith(typed)]
    return Completed(matching[:MOST], len(matching) > MOST)


async def _nodes(door: Door, typed: str) -> list[str]:
    """Return the nodes of this kind whose id begins as typed."""
    kind = next((kind for kind in KINDS if typed.startswith(f"{kind}:")), None)
    if kind is None:
        return []
    return [f"{kind}:{name}" for name in await _ids(door, f"{kind}:", typed[len(kind) + 1 :])]


async def _ids(door: Door, beginning: str, typed: str) -> list[str]:
    """Return the ids of nodes of a kind that begin as typed."""
    if len(typed) < _SHORTEST:
        return []
    try:
        listed = await door.asker.get("search", q=typed, limit=MOST)
    except ToolRefused:
        return []
    nodes = (item["node"] for item in listed["items"])
    return [node.removeprefix(beginning) for node in nodes if node.startswith(beginning)]
