"""What the detectors of the saop processor are told about a task (spec 4.2, 4.6)."""

from __future__ import annotations

from streams.engine.processor import AvroValue, Work
from topology.saop import SAOP_TASK_SIGNALS


def failures(
    record: AvroValue, task: AvroValue, threshold: int, traceparent: bytes | None, work: Work
) -> None:
    """A task has failed as often as is escalated.  task: its row with the record in it."""
    _send(
        record,
        {
            "kind": "failures",
            "failures": task["failures"],
            "threshold": threshold,
            "first_sequence": task["first_failure_sequence"],
            "last_sequence": record["sequence"],
            "rewind_id": None,
        },
        traceparent,
        work,
    )


def rewound(record: AvroValue, traceparent: bytes | None, work: Work) -> None:
    """A rewind has moved a task."""
    _send(
        record,
        {
            "kind": "rewound",
            "failures": None,
            "threshold": None,
            "first_sequence": record["sequence"],
            "last_sequence": record["sequence"],
            "rewind_id": record["rewind_id"],
        },
        traceparent,
        work,
    )


def _send(record: AvroValue, said: AvroValue, traceparent: bytes | None, work: Work) -> None:
    signal = {
        **said,
        "task_id": record["task_id"],
        "session_id": record["session_id"],
        "at": record["recorded_at"],
        "cause": record["cause"],
    }
    work.send(
        SAOP_TASK_SIGNALS,
        record["task_id"],
        signal,
        id=record["event_id"],
        at=record["recorded_at"],
        cause=record["cause"],
        traceparent=traceparent,
    )
