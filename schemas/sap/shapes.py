"""The types of members, and the shape of an object of SAP, read from its model.

A shape is used for validation, for reading untrusted Avro values, for the JSON Schemas and for the
Avro records; `schemas.sap.models` declares the members.

Source: SAP guide, 2.1 to 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.objects import JsonObject, WireObject
from schemas.rules import Rule
from schemas.sap import constants, rules
from schemas.sap.constants import is_agent_id, is_capability, is_id, parse_seconds

MAX_ITEMS = 256
"""Maximum entries of a list or map."""


class Text(NamedTuple):
    """The type of a string member.  max_length: characters.  blank: it may be blank."""

    max_length: int = 1024
    blank: bool = True


class Form(NamedTuple):
    """A text of a certain form.  description: of the form, for messages."""

    rule: Rule
    description: str
    matches: Callable[[str], bool]
    schema: tuple[tuple[str, object], ...] = ()


class Word(NamedTuple):
    words: tuple[str, ...]


class Number(NamedTuple):
    low: float | None = None
    high: float | None = None


class Integer(NamedTuple):
    low: int = 0
    high: int = MAX_SAFE_INTEGER


class Flag(NamedTuple):
    """True or false."""


class Open(NamedTuple):
    """Open JSON.  kind: `object`, `list` (of objects) or `any`."""

    kind: str = "object"


class ListOf(NamedTuple):
    item: Kind


class Numbers(NamedTuple):
    """A map of numbers."""

    value: Number


class OfSignal(NamedTuple):
    """A member of a signal whose bounds have the rule of signals.  base: its type alone."""

    base: Text | Word | Integer


class Member(NamedTuple):
    name: str
    kind: Kind
    required: bool = False


class Shape(NamedTuple):
    """The shape of an object.

    record: the Avro record, by its name in headrace.sap.
    max_members: the limit for an object that is also a map, including named members.
    doc: its description.
    """

    record: str
    members: tuple[Member, ...]
    max_members: int | None = None
    doc: str = ""


Kind = Text | Form | Word | Number | Integer | Flag | Open | ListOf | Numbers | OfSignal | Shape

_HEX = "[0-9a-fA-F]"
UUID = Form(
    rules.BAD_UUID,
    "a UUID of 36 characters",
    is_id,
    (("pattern", f"^{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}$"),),
)
TIME = Form(
    rules.BAD_TIMESTAMP,
    "a real date and time, YYYY-MM-DDTHH:MM:SSZ",
    lambda text: parse_seconds(text) is not None,
    (("pattern", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9]Z$"),),
)
VERSION = Form(
    rules.BAD_VERSION,
    constants.VERSION,
    constants.VERSION.__eq__,
    (("const", constants.VERSION),),
)
AGENT_ID = Form(
    rules.BAD_AGENT_ID,
    "1 to 256 characters, none of control, no blank at either end",
    is_agent_id,
    (("minLength", 1), ("maxLength", 256)),
)
CAPABILITY = Form(
    rules.BAD_CAPABILITY,
    "words of letters, digits, _ and -, joined by dots, at most 256 characters",
    is_capability,
    (("pattern", r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$"), ("maxLength", 256)),
)
RATING = Integer(1, 5)
DECISION = Word(constants.DECISIONS)
NOTE = Text(4000, blank=False)

_KINDS: dict[Any, Kind] = {
    str: Text(),
    float: Number(),
    int: Integer(),
    bool: Flag(),
    JsonObject: Open(),
    list[JsonObject]: Open("list"),
    Any: Open("any"),
}
"""The kinds of members with a plain type."""


def shape_of(model: type[WireObject]) -> Shape:
    """Return the shape of a model: each attribute, what it must be, and whether it must be there.

    An attribute may be absent if its default is None.
    """
    hints = get_type_hints(model, include_extras=True)
    members = tuple(
        Member(attribute.name, _kind_of(hints[attribute.name]), attribute.default is not None)
        for attribute in fields(model)
        if attribute.default_factory is MISSING
    )
    doc = " ".join((model.__doc__ or "").split())
    return Shape(model.__name__, members, getattr(model, "MAX_MEMBERS", None), doc)


def _kind_of(hint: Any) -> Kind:
    if hint in _KINDS:
        return _KINDS[hint]
    if isinstance(hint, type) and issubclass(hint, WireObject):
        return shape_of(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind: Kind = arguments[1]
        return kind
    if origin in (Union, UnionType):
        (present,) = (argument for argument in arguments if argument is not NoneType)
        return _kind_of(present)
    inner = _kind_of(arguments[-1])
    if origin is dict and isinstance(inner, Number):
        return Numbers(inner)
    assert origin is list, f"{hint} is no type of a member"
    return ListOf(inner)


def shapes_in(shape: Shape) -> dict[str, Shape]:
    """Return a shape and all that are in it, by record."""
    shapes = {shape.record: shape}
    for member in shape.members:
        kind = member.kind.item if isinstance(member.kind, ListOf) else member.kind
        if isinstance(kind, Shape):
            shapes |= shapes_in(kind)
    return shapes


def without_nulls(shape: Shape, value: JsonObject) -> JsonObject:
    """Return the object without the named members that are null; open JSON keeps its nulls."""
    kinds = {member.name: member.kind for member in shape.members}
    return {
        name: _without_nulls(kinds[name], member) if name in kinds else member
        for name, member in value.items()
        if member is not None or name not in kinds
    }


def _without_nulls(kind: Kind, value: Any) -> Any:
    if isinstance(kind, Shape) and isinstance(value, dict):
        return without_nulls(kind, value)
    if isinstance(kind, ListOf) and isinstance(kind.item, Shape) and isinstance(value, list):
        shape = kind.item
        return [without_nulls(shape, item) if isinstance(item, dict) else item for item in value]
    return value
