"""Signing the records that a task, or an operator's tool, writes (see `streams.engine.record_mac`).

A task signs all records of a transaction at once, just before they are written, so that steps that
are dropped cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streams.engine.record_mac import (
    HEADER,
    first_serial,
    format_header,
    record_macs,
)
from streams.engine.records import Output
from topology.declarations import Topic
from topology.headers import has_mac


class MacSigner:
    """The MACs of one opening of a task.

    task: its number.  next_serial: that of the next record.  topics: those that it may write.
    """

    def __init__(
        self, key: bytes, task: int, next_serial: int, topics: Iterable[Topic], prefix: str
    ) -> None:
        self._key, self._task = key, task
        self.next_serial = next_serial
        self._names = frozenset(prefix + topic.name for topic in topics if has_mac(topic))

    @classmethod
    def of_opening(
        cls, key: bytes, task: int, opening: int, topics: Iterable[Topic], prefix: str
    ) -> MacSigner:
        return cls(key, task, first_serial(opening), topics, prefix)

    def sign(self, outputs: Sequence[Output]) -> list[Output]:
        """Return the outputs with MACs, in the order in which they are written."""
        start, names, task = self.next_serial, self._names, self._task
        signed = [output for output in outputs if output.topic in names]
        macs = record_macs(
            self._key,
            [
                (topic, key, value, task, serial)
                for serial, (topic, key, value, *_) in enumerate(signed, start)
            ],
        )
        self.next_serial = start + len(signed)
        headers = iter([format_header(task, start + n, mac) for n, mac in enumerate(macs)])
        return [
            output._replace(headers=[*output.headers, (HEADER, next(headers))])
            if output.topic in names
            else output
            for output in outputs
        ]
