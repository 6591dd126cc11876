"""The context and the helpers of the checks of facts and rows."""

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
"""Verdicts that answer a command; each command gets exactly one."""
Said = Iterator[tuple[Fault, str]]


class Given(NamedTuple):
    """The context of a check.

    partitions: P.  seen: what the checks of earlier facts stored.  promised, kept: facts by what
    they promise, and the outcomes of these promises.  command: returns the value of the command at
    a position.  owed: rows that must exist.
    """

    partitions: int
    seen: Values
    promised: Values
    kept: Values
    command: Callable[[str], Mapping[str, Any] | None]
    owed: Owed


Check = Callable[[Fact, Message | None, Given], Said]
"""Derives a fact again and yields the differences.  The command is None if it is not on the log
any more, or if the cause is a timer or another record."""

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]
RowProblems = Iterator[tuple[str, str]]
RowCheck = Callable[[Rows, Given], RowProblems]
"""Takes the rows of a table and a task in key order; yields row keys and what is wrong."""


def _is_verdict(fact: Mapping[str, Any]) -> bool:
    return fact.get("verdict", "accepted") in VERDICT_KINDS


class FactCheck(NamedTuple):
    """The rules by which `verify` checks the facts of one topic.

    check: derives the fact again.  rules: the closed set of rule codes that a fact may name, if
    any.
    id_member: the member that repeats the header `ce_id`.
    answers: returns whether a fact is the verdict on its command.
    promised_on: the topic of the facts that a fact of this one may promise.
    """

    check: Check | None = None
    rules: frozenset[str] | None = None
    id_member: str | None = None
    answers: Callable[[Mapping[str, Any]], bool] = _is_verdict
    promised_on: Topic | None = None


def codes(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the codes of rules."""
    return frozenset(rule.code for rule in rules)


def same(what: str, recorded: object, derived: object) -> Said:
    if recorded != derived:
        yield Fault.NOT_BORNE_OUT, f"{what} is {recorded!r}, it follows {derived!r}"


def members(recorded: Mapping[str, Any], derived: Mapping[str, Any]) -> Said:
    """Compare the members of a fact that its command has too."""
    for name, value in derived.items():
        yield from same(name, recorded[name], value)


def unless(holds: object, message: str) -> Said:
    if not holds:
        yield Fault.NOT_BORNE_OUT, message


def numbered(what: str, key: tuple[object, ...], number: int, context: Given) -> Said:
    """Check that numbers of one thing count up by one.  The first one on the log may be any."""
    last = context.seen.get("number", what, *key)
    context.seen.put(number, "number", what, *key)
    if last is not None and number != last + 1:
        yield Fault.SEQUENCE, f"{what} {number} follows {last}"


def in_place(key: bytes | None, expected: str, partition: int, context: Given) -> str | None:
    """Return the rule that the key or the partition of a record violates, None if neither does."""
    if key != expected.encode():
        return "key_mismatch"
    return None if partition_of(key, context.partitions) == partition else "partition_mismatch"


def reachable(machine: Machine[Any], state: str, target: str) -> bool:
    """Return whether an edge of the machine leads from `state` to `target`."""
    return any(step(machine, state, event) == target for event in machine.events)
