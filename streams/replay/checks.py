"""The context and the helpers of the checks of facts and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from schemas.rules import Rule
from streams.engine.processor import Message
from streams.replay.expected_rows import ExpectedRows
from streams.replay.facts import Fact
from streams.replay.spill import SpillMap
from streams.replay.violations import ViolationKind
from topology.declarations import Topic
from topology.keys import partition_of
from topology.machine import Machine, step

VERDICT_KINDS = frozenset({"accepted", "duplicate", "rejected"})
"""Verdicts that answer a command; each command gets exactly one."""
Problems = Iterator[tuple[ViolationKind, str]]


class CheckContext(NamedTuple):
    """The context of a check.

    partitions: P.  seen: what the checks of earlier facts stored.  promised: facts by what
    they promise.  outcomes: the outcomes of these promises.  command: returns the value of the
    command at a position.  owed: rows that must exist.  settings: those of the processors, by name
    without HEADRACE_.
    """

    partitions: int
    seen: SpillMap
    promised: SpillMap
    outcomes: SpillMap
    command: Callable[[str], Mapping[str, Any] | None]
    owed: ExpectedRows
    settings: Mapping[str, Any]


Check = Callable[[Fact, Message | None, CheckContext], Problems]
"""Derives a fact again and yields the differences.  The command is None if it is not on the log
any more, or if the cause is a timer or another record."""

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]
RowProblems = Iterator[tuple[str, str]]
RowCheck = Callable[[Rows, CheckContext], RowProblems]
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
    derived: rules that the check derives from the command and the fact where the fact names them,
    without noticing that they are missing.
    relative: the check only compares a fact with earlier ones.
    """

    check: Check | None = None
    rules: frozenset[str] | None = None
    id_member: str | None = None
    answers: Callable[[Mapping[str, Any]], bool] = _is_verdict
    promised_on: Topic | None = None
    derived: frozenset[str] = frozenset()
    relative: bool = False


def codes(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the codes of rules."""
    return frozenset(rule.code for rule in rules)


def check_equal(what: str, recorded: object, derived: object) -> Problems:
    if recorded != derived:
        yield ViolationKind.NOT_BORNE_OUT, f"{what} is {recorded!r}, it follows {derived!r}"


def check_members(recorded: Mapping[str, Any], derived: Mapping[str, Any]) -> Problems:
    """Compare the members of a fact that its command has too."""
    for name, value in derived.items():
        yield from check_equal(name, recorded[name], value)


def check_that(holds: object, message: str) -> Problems:
    if not holds:
        yield ViolationKind.NOT_BORNE_OUT, message


def check_sequence(
    what: str, key: tuple[object, ...], number: int, context: CheckContext
) -> Problems:
    """Check that numbers of one thing count up by one.  The first one on the log may be any."""
    last = context.seen.get("number", what, *key)
    context.seen.put(number, "number", what, *key)
    if last is not None and number != last + 1:
        yield ViolationKind.SEQUENCE, f"{what} {number} follows {last}"


def partition_mismatch(
    key: bytes | None, expected: str, partition: int, context: CheckContext
) -> str | None:
    """Return the rule that the key or the partition of a record violates, None if neither does."""
    if key != expected.encode():
        return "key_mismatch"
    return None if partition_of(key, context.partitions) == partition else "partition_mismatch"


def reachable(machine: Machine[Any], state: str, target: str) -> bool:
    """Return whether an edge of the machine leads from `state` to `target`."""
    return any(step(machine, state, event) == target for event in machine.events)
