"""All subscriptions on a log, as operators list them: never with a secret, and hosts without paths.

Paths of webhooks are often secrets too.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from schemas.formats import iso_ms
from streams.doors.push.cursors import read_cursor
from streams.doors.push.store import Rows
from streams.doors.push.subscriptions import Entry
from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.log.reading import partitions, records
from topology.core import PUSH, PUSH_SUBSCRIPTIONS
from topology.topics import full_name

Json = dict[str, Any]
EXPIRED = "expired"
_WITHOUT_LAG = "a2a"
"""The events of one task are few among those of their topic."""


def list_subscriptions(log: Log, prefix: str, now: int) -> list[Json]:
    """Return all subscriptions, by door, principal and id.  now: ms since the epoch.

    lag: records between the cursor and the ends of its topics; None for A2A, and once ended.
    Raises TopicsMismatch, BrokerUnavailable.
    """
    rows, name = Rows(), full_name(PUSH_SUBSCRIPTIONS, prefix)
    for record in records(log, partitions(log, [full_name(topic, prefix) for topic in PUSH])):
        rows.apply(record, record.topic == name)
    entries = [each for each in rows.entries.values() if each.subscription is not None]
    ends = _ends(log, prefix, entries)
    listed = [_to_json(each, prefix, ends, now) for each in entries]
    return sorted(listed, key=lambda each: (each["door"], each["principal"], each["id"]))


def _ends(log: Log, prefix: str, entries: list[Entry]) -> dict[TopicPartition, int]:
    """Return the ends of all topics that cursors name."""
    cursors = (read_cursor(entry.cursor) for entry in entries)
    names = {prefix + topic for each in cursors if each is not None for topic in each.offsets}
    existing = log.topics()
    tps = [
        TopicPartition(name, number)
        for name in sorted(names & existing.keys())
        for number in range(existing[name].partitions)
    ]
    return log.ends(tps)


def _to_json(entry: Entry, prefix: str, ends: dict[TopicPartition, int], now: int) -> Json:
    subscription, delivery = entry.subscription, entry.current
    assert subscription is not None
    state = EXPIRED if subscription.is_expired(now) and entry.is_open else entry.state.value
    return {
        "id": subscription.id,
        "door": subscription.door,
        "principal": subscription.principal,
        "name": subscription.name,
        "arguments": subscription.arguments,
        "host": urlsplit(subscription.url).hostname,
        "state": state,
        "reason": None if delivery is None else delivery.reason,
        "lag": _lag(entry, prefix, ends) if entry.is_live(now) else None,
        "attempts": 0 if delivery is None else delivery.attempts,
        "last_error": None if delivery is None else delivery.last_error,
        "last_delivery_at": None if delivery is None else _time(delivery.last_delivery_at),
        "refresh_before": _time(subscription.refresh_before),
    }


def _lag(entry: Entry, prefix: str, ends: dict[TopicPartition, int]) -> int | None:
    cursor = read_cursor(entry.cursor)
    assert entry.subscription is not None
    if cursor is None or entry.subscription.door == _WITHOUT_LAG:
        return None
    return sum(
        max(0, ends.get(TopicPartition(prefix + topic, number), 0) - offset)
        for topic, offsets in cursor.offsets.items()
        for number, offset in enumerate(offsets)
    )


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso_ms(ms)
