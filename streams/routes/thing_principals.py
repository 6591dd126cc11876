"""The principals of a thing's steps and verdicts, from the headers of the records they caused.

A command only claims a principal; its facts and messages show the one that the worker has checked.
The view does not keep it for accepted records, so it is read from the log, once for a page, where
records are signed at all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from streams.api.route import Call
from streams.engine.log import Log
from streams.engine.principals import PRINCIPAL
from streams.engine.records import TopicPartition, header, position
from streams.errors import InfrastructureError
from streams.log.fetching import read_offsets
from streams.views.parse import parse_position

PATIENCE_S = 3.0
"""How long one page waits for its principals; those that are not read by then are null."""


def read_principals(call: Call, positions: Iterable[str]) -> Mapping[str, str]:
    """Return the principals that the records at these positions show, by position."""
    if call.log is None or call.settings.principal_key is None:
        return {}
    if call.process is not None and not call.process.kafka_answers():
        return {}
    principals: dict[str, str] = {}
    with suppress(InfrastructureError):  # all else of the thing is in the view
        _read(call.log, positions, principals)
    return principals


def _read(log: Log, positions: Iterable[str], principals: dict[str, str]) -> None:
    """Add the principals of these records, as far as they are read in time."""
    deadline = time.monotonic() + PATIENCE_S
    offsets: dict[TopicPartition, list[int]] = {}
    for topic, partition, offset in map(parse_position, positions):
        offsets.setdefault(TopicPartition(topic, partition), []).append(offset)
    for tp, numbers in offsets.items():
        for record in read_offsets(log, tp, numbers, PATIENCE_S):
            principal = header(record, PRINCIPAL)
            if principal is not None:
                principals[position(record)] = principal.decode("utf-8", "replace")
            if time.monotonic() > deadline:
                return
