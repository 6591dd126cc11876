"""Things that take long, for doors whose clients come back for the outcome instead of waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from streams.api.things import Ids
from streams.views.reads import ReadOnlyStore
from topology.declarations import Topic

Json = dict[str, Any]


class Question(NamedTuple):
    """A question that a thing waits for.

    id: of the event that asked.  schema: of the answer, if any.
    """

    id: str
    prompt: str
    schema: Any


class WorkState(NamedTuple):
    """The state of a thing.  created_at, updated_at: as of ISO 8601.  message: of its agent."""

    state: str
    created_at: str
    updated_at: str
    message: str | None = None
    question: Question | None = None


class Author(NamedTuple):
    """The sender of an envelope.  principal: None without tokens.  at: as of ISO 8601.

    id: the same each time that the same is sent, so that it counts once.
    """

    principal: str | None
    at: str
    id: str


class Order(NamedTuple):
    """An envelope that is to be sent."""

    topic: Topic
    envelope: Json


@dataclass(frozen=True, kw_only=True)
class LongWork:
    """Things of one kind that take long; their ends are those of the kind's `OutcomeQuery`.

    letter: of the kind, in handles.  row: the key of the view's row that each change writes.
    read: None if there is no such thing.  cancelled: the state of what was called off.
    cancel: makes the envelope that calls it off.  answer: makes that which answers a question;
    None if such things never ask.
    """

    letter: str
    row: Callable[[Ids], bytes]
    read: Callable[[ReadOnlyStore, Ids], WorkState | None]
    cancelled: str
    cancel: Callable[[ReadOnlyStore, Ids, Author], Order]
    answer: Callable[[ReadOnlyStore, Ids, Mapping[str, Any], Author], Order] | None = None
