"""The facts of redrives (`audit.redrives`): which dead letters were sent back."""

from __future__ import annotations

from typing import NamedTuple

from schemas import Undecodable, decode
from streams.engine.records import Record
from streams.log.record_json import key_text
from topology.core import AUDIT_REDRIVES


class LetterOrigin(NamedTuple):
    """The identity of a dead letter, which the fact of its redrive repeats.

    place, source: the positions of the dead letter and of its record.  code: why it became one.
    """

    place: str
    source: str
    code: str


def origin_of_fact(record: Record) -> LetterOrigin | None:
    """Return which dead letter a fact describes; None if no redrive has written it."""
    try:
        fact = decode(record.value or b"", AUDIT_REDRIVES.record or "").value
    except Undecodable:
        return None
    if key_text(record) != fact["dead_letter"]:
        return None
    return LetterOrigin(fact["dead_letter"], fact["source"], fact["code"])
