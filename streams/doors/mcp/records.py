"""Records and verdicts by their positions, read from the gateway's routes."""

from __future__ import annotations

from typing import Any

from streams.doors.mcp.door import Door
from streams.doors.mcp.results import Json, ToolRefused, refused
from streams.views.parse import parse_position
from streams.views.service.effects import effects_of
from topology.declarations import TopicKind
from topology.topics import BY_NAME

UNKNOWN, INTERNAL = "position_unknown", "topic_internal"
_MOST_LISTED = 1000


def parts_of(position: str) -> tuple[str, str, str]:
    """Return topic, partition and offset.  Raises ToolRefused."""
    topic, _, place = position.partition("/")
    partition, _, offset = place.partition("/")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        detail = f"{position} is no position, such as apc.packets/0/17"
        raise refused(404, detail, UNKNOWN, "/position")
    return topic, partition, offset


async def read_record(door: Door, position: str, *, with_bytes: bool = False) -> Json:
    """Return a record as `GET /v1/records/…` does.  Raises ToolRefused."""
    try:
        query: Json = {"bytes": True} if with_bytes else {}
        return await door.asker.get("records", *parts_of(position), **query)
    except ToolRefused as exc:
        if exc.body.get("rule") in ("record_unknown", "not_found"):
            detail = str(exc.body.get("detail"))
            raise refused(404, detail, UNKNOWN, "/position") from exc
        raise


async def read_effects(door: Door, position: str) -> Json:
    """Return what a record caused, as `…/effects` does.  Raises ToolRefused."""
    return await door.asker.get("records", *parts_of(position), "effects")


def is_fact(record: Json, door: Door) -> bool:
    topic = BY_NAME.get(door.short(record["topic"]))
    return topic is not None and topic.kind is TopicKind.FACT


def has_dead_letter(door: Door, cause: str) -> bool:
    """Return whether a record became a dead letter.  cause: its position, with prefix."""
    with door.gateway.view.reader() as reads:
        places = effects_of(reads, parse_position(cause))
    kinds = (BY_NAME[door.short(place.topic)].kind for place in places)
    return TopicKind.DEAD_LETTER in kinds


async def find_verdict(door: Door, position: str) -> Json | None:
    """Return the verdict on the command at a position, None if the view has none.

    A record of a topic that is not shown has one only if it was refused.
    """
    try:
        effects = await read_effects(door, position)
    except ToolRefused as exc:
        if exc.body.get("rule") != INTERNAL:
            raise
        return await _find_refusal(door, position)
    verdicts: list[Json] = effects["verdicts"]
    return verdicts[0] if verdicts else None


async def _find_refusal(door: Door, position: str) -> Json | None:
    listed = await door.asker.get("verdicts", limit=_MOST_LISTED)
    causes = {door.full(door.short(position)), position}
    return next((each for each in listed["items"] if each["cause"] in causes), None)


def errors_of(value: Any) -> list[Json]:
    """Return the violations that a fact lists, as rule, path and message."""
    errors = value.get("errors") if isinstance(value, dict) else None
    return [each for each in errors or () if isinstance(each, dict)]
