"""The dead letters that were sent back."""

from __future__ import annotations

from collections.abc import Iterable

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.log.reading import partitions, records
from streams.log.redrive_facts import LetterOrigin, origin_of_fact
from streams.ops.redrive.dead_letters import DeadLetter
from topology.core import AUDIT_REDRIVES
from topology.topics import full_name


class SentBack:
    """A container of dead letters.

    A fact counts only for the dead letter that it describes, so that nobody who may write facts can
    mark a dead letter without having read it.
    """

    def __init__(self, facts: Iterable[Record] = ()) -> None:
        self._origins = set(filter(None, map(origin_of_fact, facts)))

    def __contains__(self, letter: object) -> bool:
        return isinstance(letter, DeadLetter) and _origin_of(letter) in self._origins

    def add(self, letter: DeadLetter) -> None:
        self._origins.add(_origin_of(letter))


def sent_back(log: Log, prefix: str) -> SentBack:
    """Return all dead letters that were ever sent back.  Raises BrokerUnavailable."""
    tps = partitions(log, [full_name(AUDIT_REDRIVES, prefix)])
    ends: dict[TopicPartition, int] = log.high_watermarks(tps)
    return SentBack(records(log, tps, ends))


def _origin_of(letter: DeadLetter) -> LetterOrigin:
    return LetterOrigin(letter.place, letter.source, letter.code)
