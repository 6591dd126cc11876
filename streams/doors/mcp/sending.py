"""The tool `send`: produces one envelope, and says what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from streams.access.callers import Role
from streams.api.problems import error_response
from streams.api.route import Produce, Refused
from streams.doors.mcp.door import Door, ToolCall
from streams.doors.mcp.reading import node_link
from streams.doors.mcp.records import errors_of, find_verdict, has_dead_letter, read_record
from streams.doors.mcp.results import Json, ToolRefused, refused_by, tool_result
from streams.doors.mcp.rules import meaning_of
from streams.engine.headers import TRACEPARENT
from streams.engine.records import Output, position
from streams.errors import Forbidden, HeadraceError, ViewNotReady
from streams.gateway.caller import get_caller
from streams.gateway.endpoints import require_broker, send_records
from streams.routes.produce import sending_of
from streams.routes.table import INPUTS, ROUTES
from streams.views.parse import parse_position
from streams.views.positions import ViewBehind
from streams.views.service.verdicts import ACCEPTED, REJECTED
from topology.declarations import Topic

TOPICS: Mapping[str, Topic] = {topic.name: topic for topic in INPUTS}
"""The command topics that the gateway writes, by name."""
_ACTIONS: Mapping[Topic, Produce] = {
    route.action.topic: route.action for route in ROUTES if isinstance(route.action, Produce)
}
"""The ways in which their routes accept envelopes; other topics take theirs as they are."""
PENDING, DEAD_LETTER = "pending", "dead_letter"
_REFUSED = (REJECTED, DEAD_LETTER)
_EMPTY: Json = {
    "position": None,
    "verdict": None,
    "rule": None,
    "rule_meaning": None,
    "fault": None,
    "detail": None,
    "errors": [],
    "fact": None,
    "node": None,
    "state": None,
    "ended": None,
    "outcome": None,
}


class Ruling(NamedTuple):
    """The verdict on a record that was sent.  fact: its position, with prefix; None without one."""

    verdict: str
    rule: str | None = None
    protocol: str | None = None
    fault: str | None = None
    detail: str | None = None
    node: str | None = None
    fact: str | None = None


async def send(call: ToolCall) -> Json:
    """Produce an envelope and return its verdict.  Raises ToolRefused if it is not produced."""
    door, arguments = call.door, call.arguments
    cause = await produce(door, TOPICS[arguments["topic"]], arguments["envelope"], call.meta)
    sent = {**_EMPTY, "position": door.short(cause)}
    if arguments["wait"] == "none":
        return tool_result(sent, meta={"dev.headrace/position": sent["position"]})
    ruling = await await_ruling(door, cause, arguments["wait_s"])
    return await describe(door, sent, ruling)


async def produce(door: Door, topic: Topic, envelope: Any, meta: Mapping[str, Any]) -> str:
    """Write an envelope as the caller, and return its position.  Raises ToolRefused."""
    gateway, action = door.gateway, _ACTIONS.get(topic, Produce(topic))
    _check_role(topic)
    text, context = json.dumps(envelope), meta.get(TRACEPARENT)
    headers = {TRACEPARENT: context} if isinstance(context, str) else {}

    def outputs() -> list[Output]:
        caller, now = get_caller(), gateway.clock()
        return sending_of(action, text, headers, now, gateway.settings, caller).outputs

    try:
        require_broker(gateway)
        (record,) = await send_records(gateway, topic, outputs)
    except Refused as exc:
        raise refused_by(exc.response) from exc
    except HeadraceError as exc:
        raise refused_by(error_response(exc)) from exc
    return position(record)


def _check_role(topic: Topic) -> None:
    caller = get_caller()
    if topic.operators_only and caller is not None and not caller.has((Role.OPERATOR,)):
        detail = f"the token of {caller.principal} has not the role {Role.OPERATOR}"
        raise refused_by(error_response(Forbidden(detail, "role_missing")))


async def await_ruling(door: Door, cause: str, seconds: float) -> Ruling | None:
    """Return the verdict on the record at `cause`, None if it is not there in time."""
    try:
        await door.gateway.view.wait_async(parse_position(cause), seconds)
    except (ViewBehind, ViewNotReady):
        return None
    judgement = await find_verdict(door, cause)
    if judgement is None:
        return Ruling(DEAD_LETTER if has_dead_letter(door, cause) else ACCEPTED)
    names = ("verdict", "rule", "protocol", "fault", "message", "node", "fact")
    return Ruling(*(judgement[name] for name in names))


async def describe(door: Door, sent: Json, ruling: Ruling | None) -> Json:
    """Return the result for what was sent and decided so far."""
    if ruling is None:
        return tool_result({**sent, "verdict": PENDING}, meta=_meta(sent, None))
    fact = None if ruling.fact is None else await read_record(door, ruling.fact)
    state, ended = await _standing(door, ruling.node)
    described = {
        **sent,
        "verdict": ruling.verdict,
        "rule": ruling.rule,
        "rule_meaning": meaning_of(ruling.rule, ruling.protocol),
        "fault": ruling.fault,
        "detail": ruling.detail,
        "errors": [] if fact is None else errors_of(fact["value"]),
        "fact": None
        if fact is None
        else {"position": door.short(fact["position"]), "value": fact["value"]},
        "node": ruling.node,
        "state": state,
        "ended": ended,
    }
    return tool_result(
        described,
        is_error=ruling.verdict in _REFUSED,
        links=[] if ruling.node is None else [node_link(ruling.node)],
        meta=_meta(sent, described["fact"]),
    )


async def _standing(door: Door, node: str | None) -> tuple[str | None, bool | None]:
    """Return the state of a thing and whether it is an end; None where there is no such thing."""
    if node is None:
        return None, None
    try:
        thing = await door.asker.get("things", node)
    except ToolRefused:  # nothing was made of what was refused
        return None, None
    return thing["state"], thing["terminal"]


def _meta(sent: Json, fact: Json | None) -> Json:
    meta: Json = {"dev.headrace/position": sent["position"]}
    return meta if fact is None else {**meta, "dev.headrace/fact": fact["position"]}
