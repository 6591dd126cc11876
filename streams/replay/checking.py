"""What a check of a verdict has at hand, and how it says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from schemas.rules import Rule
from streams.engine.processor import Message
from streams.replay.facts import Fact
from streams.replay.findings import Fault
from streams.replay.owed import Owed
from streams.replay.scratch import Values
from topology.declarations import Topic
from topology.keys import partition_of
from topology.machine import Machine, step

VERDICT_KINDS = frozenset({"accepted", "duplicate", "rejected"})
"""What a command is owed one of."""
Said = Iterator[tuple[Fault, str]]


class Given(NamedTuple):
    """partitions: P.  seen: what the checks of earlier facts remember.  promised, kept: facts by
    what they promise, and what came of it.  command: the value of the one at a position.  owed:
    rows that must be there."""

    partitions: int
    seen: Values
    promised: Values
    kept: Values
    command: Callable[[str], Mapping[str, Any] | None]
    owed: Owed


Check = Callable[[Fact, Message | None, Given], Said]
"""Derives again what a fact says.  The command is None where it is not on the log any more, and
where a timer or another record is the cause."""


Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]
RowProblems = Iterator[tuple[str, str]]
RowCheck = Callable[[Rows, Given], RowProblems]
"""Takes the rows of a table and a task, by key in order; says what is wrong with which."""


def _answers(fact: Mapping[str, Any]) -> bool:
    return fact.get("verdict", "accepted") in VERDICT_KINDS


class FactCheck(NamedTuple):
    """How `verify` reads the facts on one topic.

    check: derives again what a fact says.  rules: the closed set that their rule is of, if any.
    id_member: by which facts name themselves, as their header `ce_id` does.
    answers: whether a fact is the verdict on its command.
    promised_on: the topic with the facts that a fact on this one may promise.
    """

    check: Check | None = None
    rules: frozenset[str] | None = None
    id_member: str | None = None
    answers: Callable[[Mapping[str, Any]], bool] = _answers
    promised_on: Topic | None = None


def codes(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the codes of rules."""
    return frozenset(rule.code for rule in rules)


def same(what: str, recorded: object, derived: object) -> Said:
    if recorded != derived:
        yield Fault.NOT_BORNE_OUT, f"{what} is {recorded!r}, it follows {derived!r}"


def members(recorded: Mapping[str, Any], derived: Mapping[str, Any]) -> Said:
    """Members of a fact that its command has too."""
    for name, value in derived.items():
        yield from same(name, recorded[name], value)


def unless(holds: object, told: str) -> Said:
    if not holds:
        yield Fault.NOT_BORNE_OUT, told


def numbered(what: str, key: tuple[object, ...], number: int, given: Given) -> Said:
    """Numbers of one thing count up by one.  The first that the log still has may be any."""
    last = given.seen.get("number", what, *key)
    given.seen.put(number, "number", what, *key)
    if last is not None and number != last + 1:
        yield Fault.SEQUENCE, f"{what} {number} follows {last}"


def in_place(key: bytes | None, expected: str, partition: int, given: Given) -> str | None:
    """The rule that a record breaks by where it lies."""
    if key != expected.encode():
        return "key_mismatch"
    return None if partition_of(key, given.partitions) == partition else "partition_mismatch"


def reachable(machine: Machine[Any], state: str, target: str) -> bool:
    """Whether an edge of the machine leads there."""
    return any(step(machine, state, event) == target for event in machine.events)
