"""Faults of answers that every protocol can have, put into what a run has left."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tests.e2e.logged import Entry, Logged
from topology.declarations import Topic

Fault = Callable[[Logged], None]


class Facts(NamedTuple):
    """The facts of a protocol.  id: the member that names them.  command: a topic that they
    answer.
    """

    topic: Topic
    id: str
    command: Topic

    def by(self, history: Logged, rule: str) -> Iterator[Entry]:
        return (entry for entry in history.of(self.topic) if entry.value["rule"] == rule)

    def first(self, history: Logged, rule: str) -> Entry:
        return next(self.by(history, rule))


class Spoiled(NamedTuple):
    """What the common faults are put into: rules of facts, and topics of dead letters."""

    facts: Facts
    missing: str
    twice: str
    another: str
    unknown: str
    letter_twice: Topic
    letter_missing: Topic


def again(history: Logged, topic: Topic, entry: Entry, **members: object) -> None:
    history.of(topic).append(entry._replace(json=copy.deepcopy(entry.value) | members))


def common(of: Spoiled) -> Mapping[Fault, str]:
    """Faults of answers, each with a part of the sentence that is said of it."""
    facts = of.facts

    def fact_missing(history: Logged) -> None:
        history.of(facts.topic).remove(facts.first(history, of.missing))

    def fact_twice(history: Logged) -> None:
        again(history, facts.topic, facts.first(history, of.twice))

    def another_verdict(history: Logged) -> None:
        again(history, facts.topic, facts.first(history, of.another), **{facts.id: "another"})

    def of_nothing(history: Logged) -> None:
        nowhere = {facts.id: "another", "cause": f"{facts.command.name}/0/999999"}
        again(history, facts.topic, facts.first(history, of.unknown), **nowhere)

    def dead_letter_twice(history: Logged) -> None:
        history.of(of.letter_twice).append(history.of(of.letter_twice)[0])

    def dead_letter_missing(history: Logged) -> None:
        del history.of(of.letter_missing)[0]

    return {
        fact_missing: "has 0 verdicts",
        fact_twice: "is there 2 times",
        another_verdict: "has 2 verdicts",
        of_nothing: "which is not there",
        dead_letter_twice: "2 dead letters",
        dead_letter_missing: "0 dead letters",
    }


def spoiled(put: Fault, sound: Logged) -> Logged:
    """A copy with the fault; the history stays as it is."""
    history: Logged = pickle.loads(pickle.dumps(sound))
    put(history)
    return history
