"""A check for records of a later version: the view stops before them until it can read them."""

from __future__ import annotations

from collections.abc import Sequence

from schemas import Undecodable, decode, written_id
from schemas.catalogue import FIRST_ID, LATEST_ID
from streams.engine.records import Record, position
from streams.errors import InternalUnreadable
from topology.declarations import Topic, TopicKind


def refuse_newer_schema(topic: Topic, records: Sequence[Record]) -> None:
    """Raise InternalUnreadable for a record whose schema this version does not have.

    Only topics that processors alone write are checked.  A skipped record would be missing for
    good, because the store is kept.
    """
    if topic.kind not in (TopicKind.FACT, TopicKind.TABLE) or topic.record is None:
        return
    by_head = {record.value[:5]: record for record in records if record.value is not None}
    for head, record in by_head.items():
        if head[:1] == b"\0" and _is_newer(int.from_bytes(head[1:], "big"), record, topic.record):
            message = f"{position(record)} has a schema that this version does not know"
            raise InternalUnreadable(message, advice="Upgrade this process as well as the workers.")


def _is_newer(id: int, record: Record, name: str) -> bool:
    """Return whether a record's schema is newer; a registry's ids do not tell, so it is decoded."""
    if id >= FIRST_ID or written_id(name) >= FIRST_ID:
        return id > LATEST_ID
    try:
        decode(record.value, name)
    except Undecodable as exc:
        return exc.code == "schema_unknown"
    return False
