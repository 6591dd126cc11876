"""What a judge finds about an event that is to be recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from schemas.rtes import rules
from schemas.rules import Rule
from streams.engine.processor import AvroValue

Keep = Callable[[AvroValue], None]
"""Changes the rows of what an event is about, given its RtesRecord."""


def _nothing(record: AvroValue) -> None:
    """Some events change no row."""


class Finding(NamedTuple):
    """task_id: the linked task.  payload: instead of the event's own, None for that."""

    rule: Rule = rules.RECORDED
    task_id: str | None = None
    flags: tuple[str, ...] = ()
    profile: str | None = None
    payload: AvroValue | None = None
    keep: Keep = _nothing
