"""What clients noted is kept, and every command has exactly one verdict or one dead letter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from schemas import Undecodable, decode_many
from streams.engine.records import Output, position
from tests.history.anomalies import Anomaly, Violation
from tests.history.sources import Source, cause_of
from topology.declarations import Topic
from topology.machines.saop_rewind import RewindEvent
from topology.topics import dead_letters_of
from topology.verdicts import VERDICTS

OWED = frozenset({"accepted", "duplicate", "rejected"})
Notes = Mapping[str, Output]
"""What clients sent, by the position that was acknowledged."""


def check(source: Source, notes: Notes) -> Iterator[Violation]:
    places: set[str] = set()
    for topic, facts in VERDICTS.items():
        records = {position(record): record for record in source.records(topic)}
        places |= records.keys()
        answers = _answers(source, topic, facts)
        for place in records.keys() - answers.keys():
            yield Violation(Anomaly.UNANSWERED, place, "neither a verdict nor a dead letter")
        for place, count in answers.items():
            if place not in records:
                yield Violation(Anomaly.WITHOUT_COMMAND, place, f"{count} answers to nothing")
            elif count > 1:
                yield Violation(Anomaly.ANSWERED_TWICE, place, f"it has {count} answers")
        for place in notes.keys() & records.keys():
            sent, stored = notes[place], records[place]
            if (sent.key, sent.value) != (stored.key, stored.value):
                yield Violation(Anomaly.NOT_KEPT, place, "another record lies there")
    for place in notes.keys() - places:
        yield Violation(Anomaly.NOT_KEPT, place, "it was acknowledged and is not there")


def _answers(source: Source, topic: Topic, facts: tuple[Topic, ...]) -> Counter[str]:
    letters = Counter(cause_of(letter) for letter in source.records(dead_letters_of(topic)))
    name = f"{source.prefix}{topic.name}/"
    for each in facts:
        records = source.records(each)
        values = decode_many([record.value for record in records], each.record or "")
        for record, read in zip(records, values, strict=True):
            assert not isinstance(read, Undecodable), position(record)
            cause = cause_of(record)
            if cause.startswith(name) and _answers_a_command(read.value):
                letters[cause] += 1
    return +letters


def _answers_a_command(fact: Mapping[str, Any]) -> bool:
    """What a timer does is told with the cause of what set it: `fired`, or a rewind's lapse."""
    return fact.get("verdict", "accepted") in OWED and fact.get("phase") != RewindEvent.LAPSE
