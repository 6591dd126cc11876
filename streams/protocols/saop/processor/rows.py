"""Rows of the saop tables as the values that the pure parts work on, and back."""

from __future__ import annotations

from streams.engine.processor import AvroValue
from streams.protocols.saop.processor.detectors import Seen, Watch
from streams.protocols.saop.processor.ordering import Gap, Order, Place, Release
from topology.keys import composite

_DIGITS = 16
"""Of 9007199254740991."""


def turn_key(task_id: str, turn_index: int) -> str:
    return composite(task_id, str(turn_index))


def timer_key(task_id: str, turn_index: int) -> str:
    """Timers of one due time fire in the order of their keys: so that is the turns' order."""
    return composite(task_id, f"{turn_index:0{_DIGITS}d}")


def order_of(row: AvroValue | None) -> Order:
    """From a SaopTurnHead row; a task without one is new."""
    if row is None:
        return Order()
    return Order(
        row["next"],
        row["last_logged"],
        tuple(Place(**place) for place in row["held"]),
        tuple(_release(release) for release in row["queue"]),
    )


def _release(row: AvroValue) -> Release:
    gap = row["gap"]
    return Release(**row | {"gap": None if gap is None else Gap(**gap)})


def head_row(order: Order) -> AvroValue:
    return {
        "next": order.next,
        "last_logged": order.last_logged,
        "held": [place._asdict() for place in order.held],
        "queue": [release._asdict() | {"gap": gap_row(release.gap)} for release in order.queue],
    }


def gap_row(gap: Gap | None) -> AvroValue | None:
    return None if gap is None else gap._asdict()


def watch_of(row: AvroValue | None) -> Watch:
    """From a SaopDetectors row; an agent without one is watched from now on."""
    if row is None:
        return Watch()
    return Watch(
        tuple(Seen(seen["turn_index"], seen["confidence"]) for seen in row["window"]),
        row["confidence_open"],
        row["observation_sha256"],
        tuple(row["run"]),
        row["run_length"],
        row["repetition_open"],
    )


def watch_row(watch: Watch) -> AvroValue:
    return {
        "window": [{"turn_index": n, "confidence": c} for n, c in watch.window],
        "confidence_open": watch.confidence_open,
        "observation_sha256": watch.observation_sha256,
        "run": list(watch.run),
        "run_length": watch.run_length,
        "repetition_open": watch.repetition_open,
    }
