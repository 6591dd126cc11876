"""Records applied to the rows of a view; what only an intruder can have written is skipped.

Processors write every record of a fact or table topic.  A record there that no processor writes,
or that a projection cannot apply, must not stop all views for good.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from itertools import count

from streams.engine.records import Record, is_text, position
from streams.errors import HeadraceError
from streams.view_store.rows import FOLLOWED
from streams.view_store.schema_guard import (
    is_set_aside,
    is_written_by_no_version,
    refuse_newer_schema,
)
from streams.view_store.service_rows import add_to_service
from streams.views.changes import WriteBatch
from streams.views.projection import Apply
from streams.views.reads import RowReader
from streams.views.service.fold import ServiceFold
from topology.declarations import Topic

_MAX_FAILURES = 20
"""Records of one step that are skipped because a projection raises."""
_log = logging.getLogger("streams.views.apply")


def apply_records(
    topics: Mapping[str, Topic],
    records: Sequence[Record],
    store: RowReader,
    set_aside: Collection[str] = (),
    followed: Mapping[str, Apply | None] = FOLLOWED,
) -> tuple[WriteBatch, Sequence[Record]]:
    """Return the rows that the records change, and the records without the skipped ones.

    topics: by full name.  set_aside: positions of records of unknown schemas to skip.
    followed: the projections by topic.
    Raises InternalUnreadable before a record of a later version, and what a projection raises when
    many records fail: that is a defect of this version.
    """
    readable = [
        record
        for record in records
        if followed[topics[record.topic].name] is None
        or not _is_skipped(topics[record.topic], record, set_aside)
    ]
    for failures in count():
        try:
            return _apply(topics, readable, store, followed), readable
        except (HeadraceError, MemoryError):
            raise
        except Exception as exc:
            if not readable or failures >= _MAX_FAILURES:
                raise
            index = _first_failing(topics, readable, store, followed)
            _log.warning("%s is skipped: it cannot be applied: %r", position(readable[index]), exc)
            del readable[index]
    raise AssertionError("count() has no end")


def by_topic(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.topic, []).append(record)
    return groups


def _apply(
    topics: Mapping[str, Topic],
    records: Sequence[Record],
    store: RowReader,
    followed: Mapping[str, Apply | None],
) -> WriteBatch:
    rows = WriteBatch(store)
    service = ServiceFold(rows)
    for name, group in by_topic(records).items():
        topic = topics[name]
        refuse_newer_schema(topic, group)
        if apply := followed[topic.name]:
            apply(topic, group, rows)
        add_to_service(topic, group, service, rows)
    service.write()
    return rows.settle()


def _first_failing(
    topics: Mapping[str, Topic],
    records: Sequence[Record],
    store: RowReader,
    followed: Mapping[str, Apply | None],
) -> int:
    """Return the index of the first record without which all before it can be applied."""
    low, high = 0, len(records)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _apply(topics, records[:middle], store, followed)
            low = middle
        except (HeadraceError, MemoryError):
            raise
        except Exception:
            high = middle
    return low


def _is_skipped(topic: Topic, record: Record, set_aside: Collection[str]) -> bool:
    """Return whether a record's key is no text, its value is of no version, or it is set aside."""
    if set_aside and is_set_aside(topic, record, set_aside):
        _log.warning("%s is skipped: it is set aside", position(record))
        return True
    unreadable = not is_text(record.key) or is_written_by_no_version(topic, record)
    if unreadable:
        _log.warning("%s is skipped: no processor writes such a %s", position(record), topic.record)
    return unreadable
