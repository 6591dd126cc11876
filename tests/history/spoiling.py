"""A history of which one topic is read otherwise than it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas import decode, encode
from streams.engine.records import LogRecord, Record
from tests.history.sources import Source
from topology.declarations import Topic

Change = Callable[[list[Record]], list[Record]]
"""Of the records of a topic, by partition in order."""


class Spoiled:
    """A history in which one topic is read otherwise."""

    def __init__(self, sound: Source, topic: Topic, change: Change) -> None:
        self.prefix = sound.prefix
        self._sound, self._topic, self._change = sound, topic, change

    def records(self, topic: Topic) -> list[Record]:
        records = self._sound.records(topic)
        return self._change(list(records)) if topic is self._topic else records


def without(matches: Callable[[Any], bool], topic: Topic) -> Change:
    def change(records: list[Record]) -> list[Record]:
        gone = next(one for one in records if matches(_value(topic, one)))
        return [one for one in records if one is not gone]

    return change


def changed(matches: Callable[[Any], bool], topic: Topic, spoil: Callable[[Any], None]) -> Change:
    def change(records: list[Record]) -> list[Record]:
        at = next(n for n, one in enumerate(records) if matches(_value(topic, one)))
        value, one = _value(topic, records[at]), records[at]
        spoil(value)
        again = LogRecord(one.topic, one.partition, one.offset, one.timestamp, one.key, None)
        bytes_ = encode(topic.record or "", value)
        return [
            *records[:at],
            again._replace(value=bytes_, headers=one.headers),
            *records[at + 1 :],
        ]

    return change


def _value(topic: Topic, record: Record) -> Any:
    try:
        return decode(record.value, topic.record or "").value
    except ValueError:
        return None
