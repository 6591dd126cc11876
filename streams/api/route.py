"""What a route is: a method, a path, what it asks for and how it is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from schemas import ShapeError, parse_ijson
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.problems import Problem
from streams.access.callers import Caller, Role
from streams.api.problems import Response
from streams.engine.records import Output, Record, position
from streams.errors import InvalidInput
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery
from streams.settings.service import ServiceSettings
from streams.views.parse import QueryParams
from streams.views.query_params import Parameter
from streams.views.reads import ReadOnlyStore
from topology.declarations import Topic

MOST_AT_ONCE = 1000
"""Envelopes in one request."""


class Refused(Exception):
    """response: what the sender is told."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.body["detail"])
        self.response = response


@dataclass(frozen=True, slots=True)
class Call:
    """One request that has found its route.

    view: what a query reads from.  body: JSON text or a value.  now: ms since the epoch.
    caller: whom a token names; None where there are no tokens.
    """

    view: ReadOnlyStore
    settings: ServiceSettings
    now: int
    ids: Mapping[str, str]
    params: QueryParams
    body: Any = None
    caller: Caller | None = None

    def value(self) -> Any:
        """The one value of the body.  Raises InvalidInput when it is not JSON."""
        if not isinstance(self.body, bytes | str):
            return self.body
        try:
            value = parse_ijson(self.body)
        except ShapeError as exc:
            raise InvalidInput([exc.problem]) from exc
        if too_deep(value, limit=MAX_OPEN_NESTING):
            message = f"The body is nested more than {MAX_OPEN_NESTING} deep."
            raise InvalidInput([Problem("json_invalid", "", message)])
        return value


class Query(NamedTuple):
    """A question to the views.  answer: raises InvalidInput, NotFound.

    headers: of the answer, made of its body.
    brief: it reads a few rows at most, and is answered without a thread.
    past: of one thing: its rows as they were, for `as_of`.
    """

    answer: Callable[[Call], Any]
    headers: Callable[[Any], Mapping[str, str]] | None = None
    brief: bool = False
    past: Callable[[AsOfQuery], Rows] | None = None


class Compute(NamedTuple):
    """A question about the body alone.  answer: raises InvalidInput."""

    answer: Callable[[Call], Any]


class AwaitOutcome(NamedTuple):
    """What the sender of one envelope may wait for (`Prefer: wait=N`).

    awaits: what that is, pending: what is told before it is there, refused: what is told instead;
    all by their names in `streams.gateway.responses`.  most_s: how long at most.
    row: of the view, written when it is there.
    answer: takes the call (over a view that has seen the verdict), the envelope and its position;
    None when it is not there yet.
    late: what a sender is told beside the position when time is up; None: there is no view.
    statuses: the HTTP statuses of a refusal, but for 422.
    """

    awaits: str
    pending: str
    refused: str
    most_s: Callable[[ServiceSettings], int]
    row: Callable[[Any], bytes]
    answer: Callable[[Call, Any, str], Response | None]
    late: Callable[[ReadOnlyStore | None, Any], Mapping[str, Any]]
    statuses: tuple[int, ...]


class AwaitVerdicts(NamedTuple):
    """The verdicts on all that was sent, as what its sender may wait for (`Prefer: wait=N`).

    awaits: the answer with them, by its name in `streams.gateway.responses`.  most_s: how long at
    most.  verdict: takes a view that has seen it and the position of a record.
    """

    awaits: str
    most_s: Callable[[ServiceSettings], int]
    verdict: Callable[[ReadOnlyStore, str], Any]

    def answer(self, view: ReadOnlyStore, sent: Response) -> Response:
        """sent: what is said without waiting."""
        positions = sent.body["positions"]
        found = [self.verdict(view, position) for position in positions]
        if None in found:
            return sent
        return Response(200, {**sent.body, "verdicts": found})


class ProduceOptions(NamedTuple):
    """How the envelopes of a protocol are taken, where protocols differ.

    empty: what is wrong with an empty list, if it is.  correlated: they have a correlationId, which
    headers repeat.  too_large: the rule of an envelope above its own limit, if that is answered
    413.  told: what is said of each record on the log, instead of its position.  most: in one
    request.  others: media types besides JSON, of one envelope.
    """

    empty: Problem | None = None
    correlated: bool = False
    too_large: str | None = None
    told: Callable[[Record], Any] = position
    most: int = MOST_AT_ONCE
    others: tuple[str, ...] = ()


class Produce(NamedTuple):
    """Envelopes for a topic, one or many."""

    topic: Topic
    terms: ProduceOptions = ProduceOptions()
    wait: AwaitOutcome | AwaitVerdicts | None = None


class SyncCommand(NamedTuple):
    """A command that is put on the log and answered with the fact about it.

    command: its record; raises InvalidInput.
    answer: takes the call (over a view that has seen the fact), the record and its position.
    """

    topic: Topic
    command: Callable[[Call], Output]
    answer: Callable[[Call, Output, str], Response]


class ReplaceCommand(NamedTuple):
    """What the path names is replaced or taken away; answered with the position of the command.

    command: its record; raises InvalidInput.  wait: it is then answered as envelopes are.
    """

    topic: Topic
    command: Callable[[Call], Output]
    wait: AwaitVerdicts | None = None


class Route(NamedTuple):
    """name: of the operation, one word.  template: segments in braces are ids, percent-decoded.

    meaning: one line.  parameters: of the query.  answer: what a 200 is, by its name in
    `streams.gateway.responses`.  body: the JSON Schema of what is sent, by file name in
    schemas/json, or by name there.  role: that it needs, if not that of its kind.
    """

    method: str
    template: str
    name: str
    action: Query | Compute | Produce | SyncCommand | ReplaceCommand
    meaning: str
    parameters: tuple[Parameter, ...] = ()
    answer: str = "Positions"
    body: str | None = None
    role: Role | None = None

    @property
    def tag(self) -> str:
        """The protocol, or what it is about: the word after the version."""
        return self.template.split("/")[2]

    @property
    def needs(self) -> Role:
        """The role that it asks of whoever calls it, where there are tokens."""
        if self.role is not None:
            return self.role
        match self.action:
            case Produce() | ReplaceCommand():
                return Role.PRODUCER
            case SyncCommand():
                return Role.OPERATOR
            case _:
                return Role.READER

    @property
    def reads(self) -> bool:
        """Whether it is answered from the views, and so takes `after`."""
        return isinstance(self.action, Query)

    @property
    def looks_back(self) -> bool:
        """Whether it takes `as_of`."""
        return isinstance(self.action, Query) and self.action.past is not None
