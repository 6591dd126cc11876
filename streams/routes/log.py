"""The route about the log: topics with their offsets, processors with their lag, the view."""

from __future__ import annotations

from typing import Any

from streams.api.route import Call, ProcessState, Query, Route
from streams.engine.headers import iso
from streams.log.records import is_hidden
from streams.log.state import LogState
from streams.views.status import ViewStatus
from topology import processors

Json = dict[str, Any]


def read_log(call: Call) -> Json:
    """Return the offsets of all topics, the lag of all processors and the state of the view."""
    process = process_of(call)
    state = process.log()
    return {
        "topics": [_topic_json(state, name) for name in state.topics],
        "processors": [
            {
                "name": each.name,
                "partitions": [lag._asdict() for lag in state.lag_of(each)],
            }
            for each in processors.ALL
        ],
        "view": view_json(process.view()),
    }


def process_of(call: Call) -> ProcessState:
    assert call.process is not None, "only a process with a view and a log answers this"
    return call.process


def view_json(status: ViewStatus) -> Json:
    """Return the status of a view as `/readyz` shows it."""
    return {
        "state": status.state,
        "lag": status.lag,
        "applied": status.applied,
        "since": iso(status.since_ms).decode(),
        "reason": status.reason,
    }


def _topic_json(state: LogState, name: str) -> Json:
    ranges = ((tp.partition, state.ranges[tp]) for tp in state.partitions_of(name))
    topic = state.topics[name]
    return {
        "name": name,
        "kind": topic.kind.value,
        "readable": not is_hidden(topic),
        "partitions": [
            {"partition": number, "start": offsets.start, "end": offsets.end}
            for number, offsets in ranges
        ],
    }


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/log",
        "read_log",
        Query(read_log, reads_view=False, asks_kafka=True),
        "topics with their offsets, processors with their lag, and the view; at most 2 s old",
        (),
        "LogOffsets",
    ),
)
