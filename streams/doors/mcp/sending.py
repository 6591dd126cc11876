"""The tool `send`: produces one envelope, and says what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from streams.access.callers import Role
from streams.api.problems import error_response
from streams.api.route import Produce, Refused
from streams.doors.mcp.door import Door, ToolCall
from streams.doors.mcp.reading import links_to
from streams.doors.mcp.records import errors_of, find_verdict, has_dead_letter, read_facts
from streams.doors.mcp.results import META, Json, ToolRefused, refused_by, tool_result
from streams.doors.mcp.rules import meaning_of
from streams.doors.mcp.tasks import try_task
from streams.doors.mcp.waiting import OUTCOMES, Deadline, await_outcome, find_awaited
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
from topology.lineage import kind_of

TOPICS: Mapping[str, Topic] = {topic.name: topic for topic in INPUTS}
"""The command topics that the gateway writes, by name."""
_ACTIONS: Mapping[Topic, Produce] = {
    route.action.topic: route.action for route in ROUTES if isinstance(route.action, Produce)
}
"""The ways in which their routes accept envelopes; other topics take theirs as they are."""
PENDING, DEAD_LETTER = "pending", "dead_letter"
REFUSED = (REJECTED, DEAD_LETTER)
MOST_WAIT_S = 60.0
_IN_META = {
    "taskId": f"{META}task-id",
    "correlationId": f"{META}correlation-id",
    "retryAfterMs": f"{META}retry-after-ms",
}
"""The members of verdicts that `_meta` repeats, for hosts that keep it from the model."""
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


class RecordVerdict(NamedTuple):
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
    sent = sent_at(door, cause)
    if arguments["wait"] == "none":
        return tool_result(sent, meta=_meta(sent, None))
    deadline = Deadline(min(arguments["wait_s"], MOST_WAIT_S))
    ruling = await await_ruling(door, cause, deadline.left_s())
    outcome = None
    if arguments["wait"] == "outcome" and ruling is not None and ruling.verdict not in REFUSED:
        awaited = find_awaited(door, ruling.node)
        meta = await _places(door, sent, ruling)
        task = await try_task(door, awaited, call.client, meta, by_send=True)
        if task is not None:
            return task
        report = call.client.report
        outcome = await await_outcome(door, awaited, deadline.left_s(), report)
    return await describe(door, sent, ruling, outcome)


def sent_at(door: Door, cause: str) -> Json:
    """Return what is said of a record while nothing but its position is known."""
    return {**_EMPTY, "position": door.short(cause)}


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


async def await_ruling(door: Door, cause: str, seconds: float) -> RecordVerdict | None:
    """Return the verdict on the record at `cause`, None if it is not there in time."""
    try:
        await door.gateway.view.wait_async(parse_position(cause), seconds)
    except (ViewBehind, ViewNotReady):
        return None
    judgement = await find_verdict(door, cause)
    if judgement is None:
        return RecordVerdict(DEAD_LETTER if has_dead_letter(door, cause) else ACCEPTED)
    names = ("verdict", "rule", "protocol", "fault", "message", "node", "fact")
    return RecordVerdict(*(judgement[name] for name in names))


async def describe(
    door: Door, sent: Json, ruling: RecordVerdict | None, outcome: Json | None = None
) -> Json:
    """Return the result for what was sent and decided so far."""
    if ruling is None:
        return tool_result({**sent, "verdict": PENDING}, meta=_meta(sent, None))
    fact = await read_fact(door, ruling)
    state, ended = await _standing(door, ruling.node)
    described = {
        **sent,
        "verdict": ruling.verdict,
        "rule": ruling.rule,
        "rule_meaning": meaning_of(ruling.rule, ruling.protocol),
        "fault": ruling.fault,
        "detail": ruling.detail,
        "errors": [] if fact is None else errors_of(fact["value"]),
        "fact": fact,
        "node": ruling.node,
        "state": state,
        "ended": ended,
        "outcome": outcome,
    }
    failed = outcome is not None and state != OUTCOMES[kind_of(ruling.node or "")].success
    return tool_result(
        described,
        is_error=failed or ruling.verdict in REFUSED,
        links=links_to(ruling.node, None if fact is None else fact["position"]),
        meta=_meta(sent, fact),
    )


async def read_fact(door: Door, ruling: RecordVerdict) -> Json | None:
    """Return the fact with a verdict, as position and value."""
    if ruling.fact is None:
        return None
    (fact,) = await read_facts(door, [ruling.fact])
    return fact


async def _places(door: Door, sent: Json, ruling: RecordVerdict) -> Json:
    return _meta(sent, await read_fact(door, ruling))


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
    """Return where the record and its verdict are, and the ids of the task as they were sent."""
    meta: Json = {f"{META}position": sent["position"]}
    if fact is None:
        return meta
    value = fact["value"] if isinstance(fact["value"], dict) else {}
    ids = {
        name: value[member] for member, name in _IN_META.items() if value.get(member) is not None
    }
    return {**meta, f"{META}fact": fact["position"], **ids}
