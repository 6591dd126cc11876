"""Positions on the log that a caller waits for."""

from __future__ import annotations

from typing import NamedTuple

from streams.errors import InfrastructureError


class Position(NamedTuple):
    """The position of a record of an input topic; `topic` is the full name."""

    topic: str
    partition: int
    offset: int


class ViewBehind(InfrastructureError):
    """The view has not reached the requested position in time.  lag: records still to read."""

    default_advice = "Ask again later; `headrace up` or `headrace worker` must be running."

    def __init__(self, position: Position | None, lag: int) -> None:
        awaited = f"the answer to {'/'.join(map(str, position))}" if position else "the log's end"
        super().__init__(f"{awaited} was not seen in time; the view lags by {lag}")
        self.lag = lag
