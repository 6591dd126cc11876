"""The conventions of attributes: `topology/otel/incoming.toml`, read and checked once.

Source: OTel guide, 4.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

SpanType = Literal["model", "tool", "task"]
Json = Mapping[str, Any]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AttributeValue(_Closed):
    """An attribute of the span that has this value."""

    attribute: str
    value: str

    def holds(self, attributes: Json) -> bool:
        return bool(attributes.get(self.attribute) == self.value)


class TypeRule(_Closed):
    """The type of spans whose attribute has one of the values."""

    type: SpanType
    attribute: str
    values: tuple[str, ...]


class Dialect(_Closed):
    """One set of conventions.

    checked: the packages and versions that it was compared with.  types: the first that fits
    counts.
    """

    name: str
    checked: Annotated[tuple[str, ...], Field(min_length=1)]
    detected_by: tuple[str, ...]
    types: tuple[TypeRule, ...]

    def is_of(self, attributes: Json) -> bool:
        """Return whether a span has one of the attributes that the dialect is known by."""
        return any(attributes.get(name) is not None for name in self.detected_by)

    def type_of(self, attributes: Json) -> SpanType | None:
        """Return the type that the first rule gives which fits, None if none does."""
        fitting = (
            rule.type for rule in self.types if attributes.get(rule.attribute) in rule.values
        )
        return next(fitting, None)


class Source(_Closed):
    """One place where a member may be: an attribute of the span or of its resource, or the span.

    type: only in spans of this type.  where: only in spans with this attribute.
    """

    attribute: str | None = None
    resource: str | None = None
    span: Literal["name"] | None = None
    type: SpanType | None = None
    where: AttributeValue | None = None

    @model_validator(mode="after")
    def _check_one_place(self) -> Self:
        if sum(place is not None for place in (self.attribute, self.resource, self.span)) != 1:
            raise ValueError("a source names one of attribute, resource and span")
        return self

    def value(self, span: Json, span_type: str) -> Any:
        """Return the value in a span of this type, None if it is not there."""
        attributes: Json = span["attributes"]
        if self.type not in (None, span_type) or (self.where and not self.where.holds(attributes)):
            return None
        if self.attribute is not None:
            return attributes.get(self.attribute)
        return span["name"] if self.resource is None else span["resource"].get(self.resource)


def _named(source: Any) -> Any:
    return {"attribute": source} if isinstance(source, str) else source


Sources = tuple[Annotated[Source, BeforeValidator(_named)], ...]


class Members(_Closed):
    """The sources of each member of a span, the first that is there counts."""

    session_id: Sources
    agent: Sources
    tool: Sources
    model: Sources
    provider: Sources
    input_tokens: Sources
    output_tokens: Sources
    arguments: Sources
    error: Sources


class TextSource(_Closed):
    """One place of what a model answered: messages, numbered attributes, or one attribute."""

    messages: str | None = None
    numbered: tuple[str, ...] = ()
    text: str | None = None
    unless: AttributeValue | None = None

    @property
    def patterns(self) -> list[re.Pattern[str]]:
        """Return the patterns of numbered attributes, with their numbers as groups."""
        return [_pattern(name) for name in self.numbered]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    parts = [r"([0-9]{1,9})" if part in ("N", "M") else re.escape(part) for part in name.split(".")]
    return re.compile(r"\.".join(parts))


class Conventions(_Closed):
    """All that the file says."""

    dialect: tuple[Dialect, ...]
    members: Members
    text: tuple[TextSource, ...]

    @property
    def unmasked(self) -> frozenset[str]:
        """Return the attributes with names, ids and numbers, which are never masked."""
        members = (
            getattr(self.members, name) for name in Members.model_fields if name != "arguments"
        )
        names = {source.attribute or source.resource for each in members for source in each}
        detecting = {name for each in self.dialect for name in each.detected_by}
        return frozenset(name for name in names | detecting if name is not None)


def parse(text: str) -> Conventions:
    """Parse the TOML text of the conventions; raise ValueError if it is invalid."""
    return Conventions.model_validate(tomllib.loads(text))


CONVENTIONS = parse(files("topology").joinpath("otel/incoming.toml").read_text("utf-8"))
UNMASKED = CONVENTIONS.unmasked
