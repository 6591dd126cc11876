"""Dead letters of records that could not be decided, with error and source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.engine.log import Log
from streams.engine.records import Record
from streams.errors import NotFound
from streams.log.reading import partitions, records
from streams.log.record_json import headers_json, key_text, value_json
from streams.views.positions import Position
from topology import topics
from topology.declarations import Topic, TopicKind

Json = dict[str, Any]
TOPICS = tuple(topic for topic in topics.ALL if topic.kind is TopicKind.DEAD_LETTER)


def read(log: Log, topic: Topic, prefix: str) -> Iterator[Record]:
    """Read every record that the topic has now.  Raises TopicsMismatch when it is missing."""
    return records(log, partitions(log, [topics.full_name(topic, prefix)]))


def groups(log: Log, prefix: str) -> list[Json]:
    """Count dead letters by topic and code, the most frequent first."""
    counts: dict[tuple[str, str], Json] = {}
    for topic in TOPICS:
        for record in read(log, topic, prefix):
            letter = letter_json(topic, record)
            group = counts.setdefault(
                (record.topic, letter["code"]),
                {"topic": record.topic, "code": letter["code"], "count": 0, "first": letter["at"]},
            )
            group["count"] += 1
            group |= {"last": letter["at"], "message": letter["message"]}
            group["position"] = letter["position"]
    return sorted(counts.values(), key=lambda group: (-group["count"], group["topic"]))


def letter_json(topic: Topic, record: Record) -> Json:
    """Convert a dead letter to JSON.

    position: that of the dead letter.  source: that of the record that could not be decided.
    """
    from streams.engine.headers import iso

    headers = headers_json(record)
    original = (f"kafka_dlt-original-{part}" for part in ("topic", "partition", "offset"))
    return {
        "position": f"{record.topic}/{record.partition}/{record.offset}",
        "source": "/".join(str(headers.get(name, "")) for name in original),
        "at": iso(record.timestamp).decode(),
        "code": headers.get("kafka_dlt-exception-fqcn") or "",
        "message": headers.get("kafka_dlt-exception-message") or "",
        "key": key_text(record),
        "value": value_json(topic, record),
        "headers": headers,
    }


def find_dead_letter(log: Log, position: Position, prefix: str) -> Json:
    """Return the dead letter at `position`, or of the record at it.  Raises NotFound."""
    target = "/".join(map(str, position))
    for topic in TOPICS:
        for record in read(log, topic, prefix):
            letter = letter_json(topic, record)
            if target in (letter["position"], letter["source"]):
                return letter
    raise NotFound(f"no dead letter is at {target}, and none came from there")
