"""Pydantic models of the HTTP responses, and of problems."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from streams.views.status import State
from topology.declarations import Topic

RECORD = "x-record"
"""A member of a JSON Schema: the full name of the Avro record whose JSON form it stands for."""


class ResponseModel(BaseModel):
    """A closed object with no optional members."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


def _description(text: str) -> ConfigDict:
    """Return the setting that puts a text other than the docstring in OpenAPI."""
    return ConfigDict(json_schema_extra={"description": text})


def _record_of(topic: Topic) -> str:
    assert topic.record is not None
    return topic.record


class Row(NamedTuple):
    """The JSON form of one record."""

    record: str

    @classmethod
    def of(cls, topic: Topic) -> Self:
        """Return the record of a topic.  Raises AssertionError for a topic of raw bytes."""
        return cls(_record_of(topic))


class Page(NamedTuple):
    """A page of records: `{"items", "next"}`."""

    record: str

    @classmethod
    def of(cls, topic: Topic) -> Self:
        """Return a page of a topic's records.  Raises AssertionError for a topic of raw bytes."""
        return cls(_record_of(topic))


class Extended(NamedTuple):
    """The JSON form of a record with members added or replaced, as a component of this name.

    more: the model with these members.  without: members of the record that are left out.
    """

    name: str
    record: str
    more: type[ResponseModel]
    without: tuple[str, ...] = ()


ResponseShape = type[ResponseModel] | Row | Page | Extended | tuple[type[ResponseModel], ...]
"""The shape of a route's response: a model, a record, a page, or any of several models."""


def record_schema(name: str) -> WithJsonSchema:
    return WithJsonSchema({RECORD: name})


Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Json = Annotated[Any, WithJsonSchema({})]
RefusedRewind = Annotated[dict[str, Any], record_schema("headrace.saop.SaopRewindLogged")]
RefusedControl = Annotated[dict[str, Any], record_schema("headrace.saop.SaopControlLogged")]
EdgeRow = Annotated[dict[str, Any], record_schema("headrace.core.LineageEdge")]


Position = Annotated[str, Field(pattern=r"^[^/]+/[0-9]+/[0-9]+$")]


class Note(ResponseModel):
    """What will become of a value that was sent, or what was left out of it."""

    index: Count
    rule: str
    path: str
    message: str


class Positions(ResponseModel):
    """The positions of the produced records."""

    model_config = _description(
        "Where the records are on the log, in the order sent: topic/partition/offset.  `notes` is"
        " there only when there is something to say about a value."
    )

    positions: list[Position]
    notes: list[Note] = []


class Placed(ResponseModel):
    """The position of the command."""

    model_config = _description("Where the command is on the log.")

    position: Position


class Alive(ResponseModel):
    alive: Literal[True]


class ViewReadiness(ResponseModel):
    state: State
    lag: Count
    applied: Count
    since: Time
    reason: str | None


class BrokerReadiness(ResponseModel):
    up: bool
    reason: str | None


class Readiness(ResponseModel):
    ready: bool
    view: ViewReadiness
    broker: BrokerReadiness


class ValueProblem(ResponseModel):
    """A violation in one of the values sent."""

    model_config = _description("What is wrong with one of the values sent; index counts from 0.")

    index: Count
    rule: str
    path: str
    message: str


class Problem(BaseModel):
    """Problem details (RFC 9457).  rule: the code of the rule broken.

    path: a JSON Pointer into the body, or the name of a query parameter.
    position: of a command that is on the log, while what came of it is not known yet.
    fact: the refusal of a command.  candidates: the sessions that use the id of a node.
    """

    type: str
    title: str
    status: int
    detail: str
    rule: str
    path: str | None = None
    lag: int | None = None
    position: Position | None = None
    fact: RefusedRewind | RefusedControl | None = None
    errors: list[ValueProblem] | None = None
    candidates: list[str] | None = None


class GraphNode(ResponseModel):
    node: str
    kind: str
    distance: Count
    retracted_by: list[str]


class GraphCut(ResponseModel):
    by: Literal["depth", "size"]
    bound: Count


class LineageGraph(ResponseModel):
    node: str
    direction: Literal["ancestors", "descendants", "both", "blast_radius"]
    depth: Count
    nodes: list[GraphNode]
    items: list[EdgeRow]
    next: str | None
    cut: GraphCut | None
