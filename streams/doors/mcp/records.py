"""Records and verdicts by their positions, read from the gateway's routes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from streams.doors.mcp.door import Door
from streams.doors.mcp.results import Json, ToolRefused, refused
from streams.log import records as log_records
from streams.log.record_json import value_json
from streams.routes.verdicts import judgement_json
from streams.views.parse import parse_position
from streams.views.service.effects import effects_of
from streams.views.service.refusals import latest_refusals
from topology.declarations import TopicKind
from topology.topics import BY_NAME

UNKNOWN, INTERNAL, TOO_LARGE = "position_unknown", "topic_internal", "record_too_large"
_MOST_READ = 1000
"""The most verdicts that are read for one, the newest first."""


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


async def read_facts(door: Door, positions: Iterable[str]) -> list[Json]:
    """Return facts as position and value.  Raises ToolRefused.

    The value is null of a fact that is too large to be shown, and of those behind it that would
    make the result too large.
    """
    facts: list[Json] = []
    left = door.settings.mcp_max_result_bytes
    for place in positions:
        value = None
        if left > 0:
            try:
                size, decoded = await _read_fact(door, place)
            except ToolRefused as exc:
                if exc.body.get("rule") != TOO_LARGE:
                    raise
            else:
                left -= size
                value = decoded if left >= 0 else None
        facts.append({"position": door.short(place), "value": value})
    return facts


async def _read_fact(door: Door, position: str) -> tuple[int, Any]:
    """Return the size of a fact in bytes and its value, from the view if it has read it lately.

    Raises ToolRefused.
    """
    recent = door.gateway.view.recent_fact(parse_position(position))
    if recent is None or len(recent.value or b"") > log_records.MAX_BYTES:
        record = await read_record(door, position)
        return record["size"], record["value"]
    return len(recent.value or b""), value_json(BY_NAME[door.short(recent.topic)], recent)


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
        return _find_refusal(door, position)
    verdicts: list[Json] = effects["verdicts"]
    return verdicts[0] if verdicts else None


def _find_refusal(door: Door, position: str) -> Json | None:
    """Return the refusal of a record among the newest, of which only those before it are read."""
    causes = {door.full(door.short(position)), position}
    with door.gateway.view.reader() as reads:
        entries = islice(latest_refusals(reads, {}, None, None)(None), _MOST_READ)
        judgement = next((each for _, each in entries if each and each.cause in causes), None)
    return None if judgement is None else judgement_json(judgement)


def errors_of(value: Any) -> list[Json]:
    """Return the violations that a fact lists, as rule, path and message."""
    errors = value.get("errors") if isinstance(value, dict) else None
    return [each for each in errors or () if isinstance(each, dict)]
