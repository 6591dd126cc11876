"""The verdicts that facts say: declared by each protocol for its fact topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from schemas.projection import Projection
from streams.engine.headers import CAUSE
from streams.engine.principals import PRINCIPAL
from streams.engine.records import Record, header
from streams.views.changes import WriteBatch

Members = Mapping[str, Any]
ACCEPTED, DUPLICATE, REJECTED = "accepted", "duplicate", "rejected"
NONE = "none"
"""The word for a fact that is no verdict on a record, such as that of a timer."""
VERDICTS = (ACCEPTED, DUPLICATE, REJECTED)


class Subject(StrEnum):
    """The subjects that the facts of a topic can have."""

    COMMANDS = "commands"
    """Records that are owed a verdict."""
    EVENTS = "events"
    """Observations that agents send, which are counted apart."""
    SERVICE = "service"
    """What the service did by itself."""


class Counted(NamedTuple):
    """The part of a fact that is counted.

    at: ms since the epoch.  rule: `none` where the fact has none.
    agent: who sent the record, where the fact tells.
    """

    at: int
    verdict: str
    rule: str
    agent: str | None = None


class Explained(NamedTuple):
    """The part of a verdict that only lists show.

    node: of the thing in the lineage graph that it is about.  title: that thing in a few words.
    """

    message: str | None
    fault: str | None
    node: str | None
    title: str | None


class Judgement(NamedTuple):
    """A verdict on a record.

    at: ms since the epoch.  cause: position of the record.  fact: position of the verdict.
    """

    at: int
    protocol: str
    topic: str
    verdict: str
    rule: str
    message: str | None
    fault: str | None
    node: str | None
    title: str | None
    agent: str | None
    principal: str | None
    cause: str | None
    fact: str


def _explain_nothing(record: Record, members: Members) -> Explained:
    return Explained(None, None, None, None)


@dataclass(frozen=True, kw_only=True)
class FactReading:
    """The way to read the facts of one topic.

    projection: the members that the functions need.  Where the protocol's projection of the topic
    has shared decoded members (`WriteBatch.shared`), these are taken, and must be no fewer.
    count: takes the record, its members, and the rows, of which only those that facts of the same
    partition made may be read; None for a fact that is not counted.
    explain: is called for what a list shows.
    """

    subject: Subject
    projection: Projection
    count: Callable[[Record, Members, WriteBatch], Counted | None]
    explain: Callable[[Record, Members], Explained] = _explain_nothing


def first_message(fact: Members, meanings: Mapping[str, str]) -> str | None:
    """Return what the first problem of a fact says, or what its rule means.

    meanings: by rule.
    """
    errors = fact.get("errors") or ()
    message: str | None = errors[0]["message"] if errors else meanings.get(fact["rule"])
    return message


class LateSender(NamedTuple):
    """The sender of a record, where the fact about it does not tell.

    counted: the verdict, with the agent.  topic: of the fact, without prefix.
    """

    counted: Counted
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class SenderReading:
    """The way to read the senders of commands, where the facts about these do not tell.

    find: takes a record and its members; returns None until the fact was counted without a sender.
    """

    projection: Projection
    find: Callable[[Record, Members, WriteBatch], LateSender | None]


def judgement_of(
    protocol: str,
    topic: str,
    reading: FactReading,
    record: Record,
    members: Members,
    counted: Counted,
) -> Judgement:
    """Return the verdict that a fact says, with all that lists show of it.

    topic: without prefix.
    """
    explained = reading.explain(record, members)
    return Judgement(
        counted.at,
        protocol,
        topic,
        counted.verdict,
        counted.rule,
        *explained,
        counted.agent,
        _text(header(record, PRINCIPAL)),
        _text(header(record, CAUSE)),
        f"{record.topic}/{record.partition}/{record.offset}",
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
