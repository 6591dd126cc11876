"""The parts of messages and artifacts: their rows by id, and the resolution of ids."""

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


def store_parts(fact: bytes | None, rows: WriteBatch) -> None:
    """Store the parts of an accepted message or artifact, except for ids that exist."""
    event = json_of(ASAP_EVENTS, fact or b"")
    for part_id, part in parts_of(event["envelope"]):
        row_key = part_key(event["task_id"], part_id)
        if rows.read(row_key) is None:
            rows[row_key] = orjson.dumps(part)


def parts_of(envelope: Json) -> Iterator[tuple[str, Any]]:
    """Yield the parts in an envelope, each with its id (spec 2.6)."""
    for index, part in enumerate(envelope["payload"].get("parts") or ()):
        if isinstance(part, dict):
            yield f"{envelope['id']}#{index}", part
    for item in (envelope["extensions"] or {}).get(EXT_PARTS, ()):
        yield item["id"], Part.dump_python(Part.validate_python(item["part"]), mode="json")


def resolve_parts(view: ReadOnlyStore, task_id: str, items: Sequence[Any]) -> list[Any]:
    """Replace every known id among ids and parts by its Part."""
    ids = [item for item in items if isinstance(item, str)]
    rows = view.get_many([part_key(task_id, part_id) for part_id in ids])
    known = {
        part_id: orjson.loads(row)
        for part_id, row in zip(ids, rows, strict=True)
        if row is not None
    }
    return [known.get(item, item) if isinstance(item, str) else item for item in items]
