"""Resources: things, records, lineage, events of sessions, and the meanings of rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from mcp.shared.uri_template import UriTemplate

from streams.access.callers import Role
from streams.doors.mcp import agents
from streams.doors.mcp.door import Door
from streams.doors.mcp.reading import node_uri
from streams.doors.mcp.records import read_record
from streams.doors.mcp.results import refused
from streams.doors.mcp.rules import rule_text, rules_by_code
from streams.gateway.caller import get_caller
from streams.gateway.http_response import dump_json
from streams.log.records import is_hidden
from topology import topics

JSON, MARKDOWN = "application/json", "text/markdown"
FOREVER_MS = 86_400_000
"""How long clients may keep what cannot change."""
Variables = Mapping[str, str]


class Content(NamedTuple):
    """The text of a resource.  ttl_ms: how long a client may keep it."""

    text: str
    media: str = JSON
    ttl_ms: int = 0


class Template(NamedTuple):
    """A kind of resources.  read: takes the variables of the URI; raises ToolRefused.

    node: returns the node of the thing whose changes change the resource, if there is one.
    """

    uri: str
    name: str
    description: str
    read: Callable[[Door, Variables], Awaitable[Content]]
    media: str = JSON
    node: Callable[[Variables], str | None] = lambda variables: None

    def match(self, uri: str) -> Variables | None:
        variables = UriTemplate.parse(self.uri).match(uri)
        return None if variables is None else {k: str(v) for k, v in variables.items()}


class Entry(NamedTuple):
    """A resource as lists show it."""

    uri: str
    name: str
    description: str
    media: str = JSON


class Listed(NamedTuple):
    """A resource of its own.  read: as of a template."""

    uri: str
    name: str
    description: str
    read: Callable[[Door], Awaitable[Content]]
    media: str = JSON


def _json(value: object, ttl_ms: int = 0) -> Content:
    return Content(dump_json(value).decode(), ttl_ms=ttl_ms)


async def _read_node(door: Door, variables: Variables) -> Content:
    as_of = variables.get("as_of")
    thing = await door.asker.get("things", variables["node"], as_of=as_of)
    is_at_position = as_of is not None and "/" in as_of  # a time may be one that is yet to come
    return _json(thing, FOREVER_MS if is_at_position else 0)


async def _read_record(door: Door, variables: Variables) -> Content:
    position = "/".join(variables[name] for name in ("topic", "partition", "offset"))
    record = await read_record(door, position)
    names = ("position", "key", "headers", "value")
    described = {"topic": door.short(record["topic"]), "at": record["timestamp"]}
    described |= {name: record[name] for name in names}
    described["position"] = door.short(record["position"])
    return _json(described, FOREVER_MS)


async def _read_lineage(door: Door, variables: Variables) -> Content:
    return _json(await door.asker.get("lineage", "graph", **variables))


async def _read_events(door: Door, variables: Variables) -> Content:
    return _json(await door.asker.get("rtes", "events", **variables))


async def _read_rule(door: Door, variables: Variables) -> Content:
    text = rule_text(variables["rule"])
    if text is None:
        raise refused(404, f"there is no rule {variables['rule']}", "resource_unknown")
    return Content(text, MARKDOWN)


async def _list_topics(door: Door) -> Content:
    visible = [
        {"name": topic.name, "kind": topic.kind.value, "key": topic.key, "meaning": topic.meaning}
        for topic in topics.ALL
        if not is_hidden(topic)
    ]
    return _json({"topics": visible})


async def _list_rules(door: Door) -> Content:
    return _json({"rules": [each._asdict() for of in rules_by_code().values() for each in of]})


async def _describe_api(door: Door) -> Content:
    return Content(door.openapi().decode())


TEMPLATES: tuple[Template, ...] = (
    Template(
        "headrace://node/{node}{?as_of}",
        "node",
        "A thing of any protocol by its node: state, steps, verdicts and links.",
        _read_node,
        node=lambda variables: None if "as_of" in variables else variables["node"],
    ),
    Template(
        "headrace://record/{topic}/{partition}/{offset}",
        "record",
        "One record as it lies on the log.",
        _read_record,
    ),
    Template(
        "headrace://lineage/{node}{?direction,depth}",
        "lineage",
        "What a node came of, and what came of it.",
        _read_lineage,
    ),
    Template(
        "headrace://session/{session_id}/events{?after_sequence,limit}",
        "session_events",
        "The recorded RTES events of a session.",
        _read_events,
        node=lambda variables: f"saop:session:{variables['session_id']}",
    ),
    Template(
        "headrace://rule/{rule}",
        "rule",
        "What a rule code means, and where it is checked.",
        _read_rule,
        MARKDOWN,
    ),
)
LISTED: tuple[Listed, ...] = (
    Listed("headrace://topics", "topics", "The topics whose records are shown.", _list_topics),
    Listed("headrace://rules", "rules", "All rule codes and their meanings.", _list_rules),
    Listed("headrace://openapi", "openapi", "The HTTP API, which `query` asks.", _describe_api),
)


def list_entries(door: Door) -> tuple[list[Entry], list[Entry]]:
    """Return the resources that are always there, and the manifests of registered agents.

    Manifests are for readers.  Raises ViewNotReady.
    """
    caller = get_caller()
    always = [Entry(each.uri, each.name, each.description, each.media) for each in LISTED]
    if caller is not None and not caller.has((Role.READER,)):
        return always, []
    manifests = [
        Entry(node_uri(node), node, f"The manifest of {tool.agent_id}, as registered.")
        for node, tool in agents.list_manifests(door)
    ]
    return always, manifests


def node_of(uri: str) -> str | None:
    """Return the node of the thing whose changes change a resource, None if there is none."""
    for template in TEMPLATES:
        variables = template.match(uri)
        if variables is not None:
            return template.node(variables)
    return None


async def read(door: Door, uri: str) -> Content | None:
    """Return the content of a resource, None if there is none of that address.

    Raises ToolRefused for a token without the role, and for what is not on the log.
    """
    caller = get_caller()
    if caller is not None and not caller.has((Role.READER,)):
        detail = f"the token of {caller.principal} has not the role {Role.READER}"
        raise refused(403, detail, "role_missing")
    for listed in LISTED:
        if listed.uri == uri:
            return await listed.read(door)
    for template in TEMPLATES:
        variables = template.match(uri)
        if variables is not None:
            return await template.read(door, variables)
    return None
