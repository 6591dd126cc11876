"""Parts of messages and artifacts: under which ids they are kept, and put in place of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from schemas.asap import EXT_PARTS, Part
from streams.views.changes import WriteBatch
from streams.views.keys import key, text_key
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.asap import ASAP_EVENTS


def part_key(task_id: str, part_id: str) -> bytes:
    return key("asap part") + text_key(task_id) + text_key(part_id)


def note_parts(fact: bytes | None, rows: WriteBatch) -> None:
    """Keep the parts that an accepted message or artifact brought, unless their ids are taken."""
    event = json_of(ASAP_EVENTS, fact or b"")
    for part_id, part in brought(event["envelope"]):
        own = part_key(event["task_id"], part_id)
        if rows.read(own) is None:
            rows[own] = orjson.dumps(part)


def brought(envelope: Json) -> Iterator[tuple[str, Any]]:
    """The parts in an envelope, each with its id (spec 2.6)."""
    for index, item in enumerate(envelope["payload"].get("parts") or ()):
        if isinstance(item, dict):
            yield f"{envelope['id']}#{index}", item
    for held in (envelope["extensions"] or {}).get(EXT_PARTS, ()):
        yield held["id"], Part.dump_python(Part.validate_python(held["part"]), mode="json")


def resolved(view: ReadOnlyStore, task_id: str, items: Sequence[Any]) -> list[Any]:
    """items: ids and parts; every id that is known is replaced by its Part."""
    ids = [item for item in items if isinstance(item, str)]
    found = view.get_many([part_key(task_id, part_id) for part_id in ids])
    known = {
        part_id: orjson.loads(row)
        for part_id, row in zip(ids, found, strict=True)
        if row is not None
    }
    return [known.get(item, item) if isinstance(item, str) else item for item in items]
