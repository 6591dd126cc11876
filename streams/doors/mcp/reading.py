"""The tools that read: `state`, `lineage`, `query` and `validate`."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from streams.doors.mcp.door import ToolCall
from streams.doors.mcp.results import Json, refused, resource_link, tool_result
from streams.gateway.http_response import dump_json
from streams.gateway.live_tail.route import PATH as STREAM
from streams.ingress.kinds import KINDS
from streams.processing import ingress
from streams.processing.lines import Unparsed, read_value
from streams.routes.table import NoRoute
from streams.routes.things import KINDS as KINDS_OF_THINGS
from topology.lineage import kind_of

_API = "/v1/"


def check_kind(node: str) -> None:
    """Raise ToolRefused for a node of a kind of which there are no things."""
    if kind_of(node) not in KINDS_OF_THINGS:
        detail = f"{node} is of no kind that has a state; those are {', '.join(KINDS_OF_THINGS)}"
        raise refused(404, detail, "node_kind", "/node")


async def read_state(call: ToolCall) -> Json:
    """Return where a thing stands, or stood.  Raises ToolRefused."""
    arguments = call.arguments
    node, as_of = arguments["node"], arguments.get("as_of")
    check_kind(node)
    thing = await call.door.asker.get("things", node, as_of=as_of, after=_after(call))
    state = {"node": thing["node"], "as_of": as_of, "state": thing}
    return tool_result(state, links=[node_link(thing["node"])])


async def read_lineage(call: ToolCall) -> Json:
    """Return what a node came of, and what came of it.  Raises ToolRefused."""
    names = ("node", "direction", "depth", "limit", "cursor")
    query = {name: call.arguments.get(name) for name in names}
    return tool_result(await call.door.asker.get("lineage", "graph", **query))


async def run_query(call: ToolCall) -> Json:
    """Return the response of a GET route.  Raises ToolRefused for a path that is none."""
    path, _, query = call.arguments["path"].partition("?")
    more = {"after": _after(call), "as_of": call.arguments.get("as_of")}
    added = urlencode({name: text for name, text in more.items() if text is not None})
    if not path.startswith(_API) or path == STREAM or not path.isascii():
        detail = f"{path} is no path of the API that has one answer; those begin with /v1/"
        raise refused(404, detail, "path_unknown", "/path")
    try:
        answer = await call.door.asker.ask(
            path, "&".join(filter(None, (query, added))), as_caller=True
        )
    except NoRoute as exc:
        raise refused(404, str(exc), "path_unknown", "/path") from exc
    structured = {"status": answer.status, "body": answer.body}
    return tool_result(structured, is_error=answer.status >= 400)


async def validate(call: ToolCall) -> Json:
    """Return whether an envelope keeps the rules that the edges apply."""
    kind = KINDS[call.arguments["kind"]]
    value = read_value(dump_json(call.arguments["envelope"]))
    if isinstance(value, Unparsed):
        problems = [kind.unread(value)]
    else:
        gateway = call.door.gateway
        _, problems = ingress.check(kind, value, gateway.clock(), gateway.settings)
    errors = [problem._asdict() for problem in problems]
    return tool_result({"valid": not problems, "errors": errors})


def node_link(node: str) -> Json:
    return resource_link(node_uri(node), node)


def links_to(node: str | None, fact: str | None) -> list[Json]:
    """Return the links to a thing and to the fact about it, as far as there are any.

    fact: its position without prefix.
    """
    links = [] if node is None else [node_link(node)]
    return links if fact is None else [*links, resource_link(f"headrace://record/{fact}", fact)]


def node_uri(node: str) -> str:
    return f"headrace://node/{quote(node, safe='')}"


def _after(call: ToolCall) -> str | None:
    """Return the position to wait for, with the prefix of topics."""
    after: str | None = call.arguments.get("after")
    return None if after is None else call.door.full(call.door.short(after))
