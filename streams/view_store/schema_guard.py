"""A check for records of a later version: the view stops before them until it can read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from schemas import Undecodable, decode, written_id
from schemas.catalogue import FIRST_ID, LATEST_ID
from streams.engine.records import Record, position
from streams.errors import InternalUnreadable
from topology.declarations import Topic, TopicKind

_LATER_IDS = 10_000
"""Ids count up by one, so an id further beyond the latest one is of no later version either."""


def is_written_by_no_version(topic: Topic, record: Record) -> bool:
    """Return whether no version of this service can have written a fact or a row.

    A registry gives out any ids, so with a registry only the frame is checked.
    """
    if topic.kind not in (TopicKind.FACT, TopicKind.TABLE) or topic.record is None:
        return False
    if record.value is None:
        return topic.kind is TopicKind.FACT
    id = int.from_bytes(record.value[1:5], "big")
    has_own_ids = written_id(topic.record) >= FIRST_ID
    return record.value[:1] != b"\0" or (has_own_ids and id > LATEST_ID + _LATER_IDS)


def is_set_aside(topic: Topic, record: Record, set_aside: Collection[str]) -> bool:
    """Return whether an operator has set a record aside, and this version cannot read it."""
    if position(record) not in set_aside:
        return False
    try:
        refuse_newer_schema(topic, [record])
    except InternalUnreadable:
        return True
    return False


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
            raise InternalUnreadable(
                f"{position(record)} has a schema that this version does not know",
                advice="Upgrade this process as well as the workers. If no worker wrote it,"
                f" HEADRACE_VIEW_SET_ASIDE={position(record)} lets the view continue without it.",
            )


def _is_newer(id: int, record: Record, name: str) -> bool:
    """Return whether a record's schema is newer; a registry's ids do not tell, so it is decoded."""
    if id >= FIRST_ID or written_id(name) >= FIRST_ID:
        return id > LATEST_ID
    try:
        decode(record.value, name)
    except Undecodable as exc:
        return exc.code == "schema_unknown"
    return False
