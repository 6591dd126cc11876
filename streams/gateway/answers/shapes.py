"""What the models of answers are made of."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from topology.declarations import Topic

RECORD = "x-record"
"""In a JSON Schema: stands for the JSON form of an Avro record, by full name."""


class Answer(BaseModel):
    """A closed object, every member of which is there."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Row(NamedTuple):
    """An answer that is the JSON form of one record."""

    record: str

    @classmethod
    def of(cls, topic: Topic) -> Self:
        """The record of a topic.  Raises AssertionError for one of raw bytes."""
        assert topic.record is not None
        return cls(topic.record)


class Page(NamedTuple):
    """`{"items", "next"}` of records."""

    record: str

    @classmethod
    def of(cls, topic: Topic) -> Self:
        """Records of a topic.  Raises AssertionError for one of raw bytes."""
        assert topic.record is not None
        return cls(topic.record)


class Extended(NamedTuple):
    """The JSON form of a record with more members, or others, as a component of this name.

    without: members of the record that are left out.
    """

    name: str
    record: str
    more: type[Answer]
    without: tuple[str, ...] = ()


Response = type[Answer] | Row | Page | Extended | tuple[type[Answer], ...]
"""What a route answers; of several models, any."""


def record(name: str) -> WithJsonSchema:
    return WithJsonSchema({RECORD: name})


Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Json = Annotated[Any, WithJsonSchema({})]
EdgeRow = Annotated[dict[str, Any], record("headrace.core.LineageEdge")]
