"""A check of the newest records of a topic, which the doctor runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from streams.engine.log import Log


class NewestRecords(NamedTuple):
    """The result of a check.

    refused: how many records do not count.  first, reason: position of the first, and why.
    """

    checked: int
    refused: int
    first: str | None
    reason: str | None


class LogCheck(NamedTuple):
    """A check of one protocol.

    name: as the doctor prints it.  what: the records, in words.  run: takes the log and the prefix
    of topics.  advice: what to do about refused records.
    """

    name: str
    what: str
    run: Callable[[Log, str], NewestRecords]
    advice: str
