"""The shape of an object is read from its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from schemas.objects import JsonObject
from schemas.sap.export import avro_source, json_schema
from schemas.sap.models import SapObject
from schemas.sap.shapes import (
    Flag,
    Integer,
    Kind,
    ListOf,
    Member,
    Number,
    Numbers,
    Open,
    Shape,
    Text,
    Word,
    shape_of,
)


@dataclass(kw_only=True)
class Inner(SapObject):
    """What is
    inside."""

    text: str


@dataclass(kw_only=True)
class Outer(SapObject):
    """All that a member may be."""

    MAX_MEMBERS = 20

    version: str = "1"
    inner: Inner
    inners: list[Inner] | None = None
    word: Annotated[str, Word(("a", "b"))] | None = None
    readings: dict[str, Annotated[float, Number(0, 1)]] | None = None
    small: Annotated[int, Integer(1, 5)]
    large: int | None = None
    flag: bool
    object: JsonObject
    objects: list[JsonObject] | None = None
    anything: Any = None


INNER = Shape("Inner", (Member("text", Text(), required=True),), None, "What is inside.")
KINDS: dict[str, tuple[Kind, bool]] = {
    "version": (Text(), True),
    "inner": (INNER, True),
    "inners": (ListOf(INNER), False),
    "word": (Word(("a", "b")), False),
    "readings": (Numbers(Number(0, 1)), False),
    "small": (Integer(1, 5), True),
    "large": (Integer(), False),
    "flag": (Flag(), True),
    "object": (Open(), True),
    "objects": (Open("list"), False),
    "anything": (Open("any"), False),
}


def test_each_attribute_is_a_member_and_what_defaults_to_none_may_be_absent() -> None:
    members = tuple(Member(name, *kind) for name, kind in KINDS.items())
    assert shape_of(Outer) == Shape("Outer", members, 20, "All that a member may be.")


def test_the_avro_source_and_the_json_schema_have_the_members_in_this_order() -> None:
    source = avro_source(shape_of(Outer))
    for field in (
        '{"name": "inners", "type": ["null", {"type": "array", "items": "Inner"}], "default"',
        '{"name": "readings", "type": ["null", {"type": "map", "values": "double"}], "default"',
        '{"name": "small", "type": "int"}',
        '{"name": "large", "type": ["null", "long"], "default": null}',
        '{"name": "object_json", "type": "string"}',
    ):
        assert field in source
    assert list(json_schema(shape_of(Outer))["properties"]) == list(KINDS)


def test_a_member_of_another_type_is_refused() -> None:
    @dataclass(kw_only=True)
    class Odd(SapObject):
        """Odd."""

        texts: dict[str, str]

    with pytest.raises(AssertionError, match="no type of a member"):
        shape_of(Odd)
