"""The declaration of a fold: how the facts about one thing make its row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from topology.declarations import Table, Topic

Row = dict[str, Any]
Fact = Mapping[str, Any]
Commands = Callable[[str], Mapping[str, Any] | None]
"""Returns the Avro value of the command at `topic/partition/offset`, None if it is gone."""
PRIVATE_PREFIX = "_"
"""Prefix of the members of a row that only the fold uses."""


class CommandGone(Exception):
    """A command that a row is made of is not on the log any more.  Its text is the position."""


def _none(row: Row) -> frozenset[str]:
    return frozenset()


class Fold(NamedTuple):
    """A fold that rebuilds the rows of a table from facts.  Rows and facts are Avro values.

    facts: the topics of the facts.
    row_key: returns the key of the row that a fact of a topic changes, None if it changes none.
    step: returns the row after one more fact.  It takes the row before (None if there is none),
    which it does not change, the topic, the fact, and a function that returns commands.  It raises
    CommandGone.
    unfolded: dotted paths of members that no fact carries; in a folded row they are empty.
    undetermined: returns more members that no fact determines in the given row.
    """

    table: Table
    facts: tuple[Topic, ...]
    row_key: Callable[[Topic, Fact], str | None]
    step: Callable[[Row | None, Topic, Fact, Commands], Row | None]
    unfolded: frozenset[str] = frozenset()
    undetermined: Callable[[Row], frozenset[str]] = _none


def visible_members(row: Row) -> Row:
    """Return a folded row without the members that only the fold uses."""
    return {name: member for name, member in row.items() if not name.startswith(PRIVATE_PREFIX)}
