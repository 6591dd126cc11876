"""What a folding is: how the facts about one thing make its row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from topology.declarations import Table, Topic

Row = dict[str, Any]
Fact = Mapping[str, Any]
Commands = Callable[[str], Mapping[str, Any] | None]
"""The Avro value of the command at `topic/partition/offset`, None when it is there no more."""
OWN = "_"
"""What the names of a row's members begin with that only the fold needs."""


class CommandGone(Exception):
    """A command that a row is made of is not on the log any more.  Its text is the position."""


def _none(row: Row) -> frozenset[str]:
    return frozenset()


class Folding(NamedTuple):
    """The rows of a table, made of facts.  Rows and facts are Avro values.

    facts: the topics that they are on.
    row_key: takes a topic and a fact of it; the key of the row that it changes, None for none.
    step: the row after one more fact; takes the row before (None for none), which it leaves as
    it is, the topic and the fact, and what gives the commands.  It raises CommandGone.
    unfolded: members that no fact tells, dotted; in a folded row they are empty.
    undetermined: takes a row as it is there; more members that no fact tells in this one.
    """

    table: Table
    facts: tuple[Topic, ...]
    row_key: Callable[[Topic, Fact], str | None]
    step: Callable[[Row | None, Topic, Fact, Commands], Row | None]
    unfolded: frozenset[str] = frozenset()
    undetermined: Callable[[Row], frozenset[str]] = _none


def shown(row: Row) -> Row:
    """A row as its table has it."""
    return {name: member for name, member in row.items() if not name.startswith(OWN)}
