"""The protocols' additions to the description of the gateway, in their order."""

from __future__ import annotations

from collections.abc import Mapping

from streams.api.description import Body, Description, PathId
from streams.api.problems import HTTP_RULES, Code
from streams.doors.a2a.description import DESCRIPTION as A2A
from streams.doors.console.description import DESCRIPTION as CONSOLE
from streams.doors.mcp.description import DESCRIPTION as MCP
from streams.doors.otlp.description import DESCRIPTION as OTLP
from streams.doors.tlog.description import DESCRIPTION as TLOG
from streams.gateway import dead_letter_responses, host_responses, service_responses
from streams.gateway.responses import LineageGraph, Placed, Positions, ResponseShape
from streams.gateway.thing_responses import RESPONSES as THING_RESPONSES
from streams.protocols.queries import QUERIES

_NUMBER = "^[0-9]{1,18}$"
HOST = Description(
    tags={**host_responses.TAGS, **service_responses.TAGS, **dead_letter_responses.TAGS},
    ids={
        "name": PathId("apc-packet"),
        "node": PathId("apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730"),
        "trace_id": PathId("sess-01"),
        "topic": PathId("apc.packets"),
        "partition": PathId("0", pattern=_NUMBER),
        "offset": PathId("17", pattern=_NUMBER),
    },
    bodies=(dead_letter_responses.BODY,),
)
"""What the gateway adds beside the protocols."""
DESCRIPTIONS: tuple[Description, ...] = (
    *(side.description() for side in QUERIES),
    HOST,
    CONSOLE,
    MCP,
    TLOG,
    OTLP,
    A2A,
)
BODIES: Mapping[str, Body] = {body.name: body for each in DESCRIPTIONS for body in each.bodies}
PATH_IDS: Mapping[str, PathId] = {
    name: path_id for each in DESCRIPTIONS for name, path_id in each.ids.items()
}
ALL_HTTP_RULES: tuple[Code, ...] = tuple(
    sorted(
        (*HTTP_RULES, *(rule for each in DESCRIPTIONS for rule in each.http_rules)),
        key=lambda rule: rule.status,
    )
)
"""The codes that only HTTP responses have, by status."""

_FIRST_PROTOCOL, *_OTHER_PROTOCOLS = QUERIES
RESPONSES: Mapping[str, ResponseShape] = {
    "Positions": Positions,
    **_FIRST_PROTOCOL.responses(),
    "LineageGraph": LineageGraph,
    **{name: response for side in _OTHER_PROTOCOLS for name, response in side.responses().items()},
    "Placed": Placed,
    **host_responses.RESPONSES,
    **service_responses.RESPONSES,
    **THING_RESPONSES,
    **dead_letter_responses.RESPONSES,
}
"""The shapes of all responses, by the names that the route table uses."""
