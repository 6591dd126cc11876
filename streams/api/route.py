"""The types of the route table: a method, a path, an action and the model of the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas import ShapeError, parse_ijson
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.problems import Problem
from streams.access.callers import Caller, Role
from streams.api.problems import Response
from streams.engine.log import Log
from streams.engine.records import Output, Record, position
from streams.errors import InvalidInput
from streams.log.state import LogState
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.query import AsOfQuery
from streams.settings.service import ServiceSettings
from streams.views.parse import QueryParams
from streams.views.positions import Position
from streams.views.query_params import Parameter
from streams.views.reads import ReadOnlyStore
from streams.views.status import ViewStatus
from topology.declarations import Topic

MAX_VALUES = 1000
"""Maximum envelopes in one request."""


class Refused(Exception):
    """A request was refused; `response` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.body["detail"])
        self.response = response


class ProcessState(NamedTuple):
    """The state of a process beside the rows of its view.

    view: the status of the view.  log: a reading of all offsets, which callers share.
    dead_letters: how many are stored and were not sent again, by topic without prefix.
    kafka_answers: whether a request to Kafka has a chance.
    recent_fact: the fact at a position, None if it is not among the last that the view has read.
    """

    view: Callable[[], ViewStatus]
    log: Callable[[], LogState]
    dead_letters: Callable[[], Mapping[str, int]] = dict
    kafka_answers: Callable[[], bool] = lambda: True
    recent_fact: Callable[[Position], Record | None] = lambda position: None


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a route.

    view: the rows that a query reads.  body: JSON text or a value.  now: ms since the epoch.
    caller: the principal of the token; None where there are no tokens.
    log: for queries that read records or offsets; None where a response is not read from the log.
    process: for queries about the service itself; None where there is no running process.
    memo: what was read once for the whole request, by any key.
    """

    view: ReadOnlyStore
    settings: ServiceSettings
    now: int
    ids: Mapping[str, str]
    params: QueryParams
    body: Any = None
    caller: Caller | None = None
    log: Log | None = None
    process: ProcessState | None = None
    memo: dict[Any, Any] = field(default_factory=dict)

    def value(self) -> Any:
        """Return the parsed body.  Raises InvalidInput if it is not JSON."""
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
    """A read of the views.  answer: raises InvalidInput, NotFound.

    headers: makes the response's headers from its body.
    brief: it reads only a few rows, and runs without a thread.
    past: returns the rows of one entity as they were, for `as_of`.
    reads_view: it needs the rows of the view, and so takes `after`.
    asks_kafka: it reads records or offsets; while Kafka does not answer it is refused at once.
    """

    answer: Callable[[Call], Any]
    headers: Callable[[Any], Mapping[str, str]] | None = None
    brief: bool = False
    past: Callable[[AsOfQuery], Rows] | None = None
    reads_view: bool = True
    asks_kafka: bool = False


class Compute(NamedTuple):
    """A computation on the body.  answer: raises InvalidInput.

    asks_kafka: it reads or writes the log; while Kafka does not answer it is refused at once.
    """

    answer: Callable[[Call], Any]
    asks_kafka: bool = False


class AwaitOutcome(NamedTuple):
    """The outcome that the sender of one envelope can wait for (`Prefer: wait=N`).

    awaits, pending, refused: the models of the responses with the outcome, before it, and instead
    of it, by their names in `streams.gateway.responses`.  most_s: the upper limit of the wait.
    row: the key of the view's row that is written with the outcome.
    answer: takes the call (over a view that has seen the verdict), the envelope and its position;
    returns None before the outcome exists.
    pending_members: makes the members beside the position in the response after a timeout; takes
    None if there is no view.
    statuses: the HTTP statuses of a refusal besides 422.
    """

    awaits: str
    pending: str
    refused: str
    most_s: Callable[[ServiceSettings], int]
    row: Callable[[Any], bytes]
    answer: Callable[[Call, Any, str], Response | None]
    pending_members: Callable[[ReadOnlyStore | None, Any], Mapping[str, Any]]
    statuses: tuple[int, ...]


class AwaitVerdicts(NamedTuple):
    """The verdicts that the sender of envelopes can wait for (`Prefer: wait=N`).

    awaits: the response with them, by its name in `streams.gateway.responses`.  most_s: the upper
    limit of the wait.  verdict: takes a view that has seen it and the position of a record.
    """

    awaits: str
    most_s: Callable[[ServiceSettings], int]
    verdict: Callable[[ReadOnlyStore, str], Any]

    def answer(self, view: ReadOnlyStore, sent: Response) -> Response:
        """Add the verdicts to the response that is sent without waiting, once all are there."""
        positions = sent.body["positions"]
        verdicts = [self.verdict(view, position) for position in positions]
        if None in verdicts:
            return sent
        return Response(200, {**sent.body, "verdicts": verdicts})


class ProduceOptions(NamedTuple):
    """The options by which protocols differ in accepting envelopes.

    empty: the problem of an empty list, if it is one.  correlated: envelopes have a correlationId,
    which headers repeat.  too_large: the rule of an envelope above the protocol's limit, if the
    status is 413.  render_record: how a produced record is shown; its position by default.
    max_values: in one request.  others: media types besides JSON, for one envelope.
    key: the query parameter that names the record key of values that do not say it themselves.
    """

    empty: Problem | None = None
    correlated: bool = False
    too_large: str | None = None
    render_record: Callable[[Record], Any] = position
    max_values: int = MAX_VALUES
    others: tuple[str, ...] = ()
    key: str | None = None


class Produce(NamedTuple):
    """Envelopes for a topic, one or many."""

    topic: Topic
    terms: ProduceOptions = ProduceOptions()
    wait: AwaitOutcome | AwaitVerdicts | None = None


class SyncCommand(NamedTuple):
    """A command that is appended to the log; the response is the fact about it.

    command: makes its record; raises InvalidInput.
    answer: takes the call (over a view that has seen the fact), the record and its position.
    """

    topic: Topic
    command: Callable[[Call], Output]
    answer: Callable[[Call, Output, str], Response]


class ReplaceCommand(NamedTuple):
    """A command that replaces or deletes what the path names; the response is its position.

    command: makes its record; raises InvalidInput.  wait: respond as for envelopes.
    """

    topic: Topic
    command: Callable[[Call], Output]
    wait: AwaitVerdicts | None = None


class Route(NamedTuple):
    """One row of the route table.

    name: the operation, one word.  template: segments in braces are ids, percent-decoded.
    meaning: one line.  answer: the model of a 200, by its name in `streams.gateway.responses`.
    body: the JSON Schema of the body, by file name in schemas/json, or by its name there.
    role: the required role, if it is not that of the action.
    open: nobody needs a token; it returns nothing that a caller has sent.
    errors: the HTTP statuses of its refusals, besides those of its action.
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
    open: bool = False
    errors: tuple[int, ...] = ()

    @property
    def tag(self) -> str:
        """Return the protocol or subject: the path's segment after the version."""
        return self.template.split("/")[2]

    @property
    def needs(self) -> Role:
        """Return the role that a caller needs where there are tokens."""
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
        """Return whether the route reads the views, and so takes `after`."""
        return isinstance(self.action, Query) and self.action.reads_view

    @property
    def takes_as_of(self) -> bool:
        """Return whether the route takes `as_of`."""
        return isinstance(self.action, Query) and self.action.past is not None
