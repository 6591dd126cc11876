"""Protocol objects for programs: attributes named as on the wire, unknown members in `extra`.

They accept any values; the validations of the protocols report what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, field, fields
from types import UnionType
from typing import Any, ClassVar, Final, NamedTuple, Self, get_args, get_type_hints

from schemas.canonical import parse_ijson
from schemas.problems import ShapeError

JsonObject = dict[str, Any]


class _Absent:
    """The type of ABSENT, its only instance."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ABSENT"

    def __copy__(self) -> _Absent:
        return self

    def __deepcopy__(self, memo: Any) -> _Absent:
        return self

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""Stands for a member that is not there, where JSON null is a value."""


class Member(NamedTuple):
    """One member that has an attribute.

    name: on the wire, and of the attribute.  model: of its value or of its items.
    """

    name: str
    model: type[WireObject] | None
    field: Field[Any]

    @property
    def absent(self) -> Any:
        """Return the attribute's value for an absent member."""
        if self.field.default_factory is not MISSING:
            return self.field.default_factory()
        return ABSENT if self.field.default is ABSENT else None

    def is_absent(self, value: Any) -> bool:
        """Return whether a value means that the member is absent.

        An empty list or map means so too, if it is the attribute's default.
        """
        if self.field.default_factory is not MISSING:
            return value is None or value == self.field.default_factory()
        return value is (ABSENT if self.field.default is ABSENT else None)


@dataclass(kw_only=True)
class WireObject:
    """The base class of protocol objects.

    extra: the members that have no attribute of their own.
    BAD_JSON, BAD_TYPE: the rule codes for a text that is not JSON, and for a value that is no
    object.
    """

    BAD_JSON: ClassVar[str]
    BAD_TYPE: ClassVar[str]
    extra: JsonObject = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Make an instance of a JSON object or its text.  Members of a wrong type stay as they are.

        Raises ShapeError for a text that is not JSON, and for a value that is no object.
        """
        if isinstance(value, (str, bytes)):
            value = cls._parsed(value)
        if not isinstance(value, dict):
            raise ShapeError(cls.BAD_TYPE, "", f"A {cls.__name__} must be an object.")
        members = tuple(members_of(cls))
        known = {member.name for member in members}
        named = {
            member.name: cls._read(member, value[member.name])
            if member.name in value
            else member.absent
            for member in members
        }
        extra = {name: member for name, member in value.items() if name not in known}
        return cls(extra=extra, **named)

    def to_json(self) -> JsonObject:
        """Return the JSON object without absent members."""
        present = {
            member.name: _as_json(value)
            for member in members_of(type(self))
            if not member.is_absent(value := getattr(self, member.name))
        }
        return {**present, **{n: m for n, m in self.extra.items() if n not in present}}

    @classmethod
    def _read(cls, member: Member, value: Any) -> Any:
        if member.model is not None and isinstance(value, dict):
            return member.model.from_json(value)
        if member.model is not None and isinstance(value, list):
            model = member.model
            return [model.from_json(item) if isinstance(item, dict) else item for item in value]
        return value

    @classmethod
    def _parsed(cls, text: str | bytes) -> Any:
        try:
            return parse_ijson(text)
        except ShapeError as exc:
            raise ShapeError(cls.BAD_JSON, "", exc.message) from exc


_MEMBERS: dict[type[WireObject], tuple[Member, ...]] = {}


def members_of(model: type[WireObject]) -> Iterator[Member]:
    """Return the members of a model that have attributes of their own."""
    members = _MEMBERS.get(model)
    if members is None:
        hints = get_type_hints(model)
        attributes = (of for of in fields(model) if of.name != "extra")
        members = tuple(Member(of.name, _model_in(hints[of.name]), of) for of in attributes)
        _MEMBERS[model] = members
    return iter(members)


def _model_in(hint: Any) -> type[WireObject] | None:
    if isinstance(hint, type) and issubclass(hint, WireObject):
        return hint
    inner = get_args(hint) if isinstance(hint, UnionType) or get_args(hint) else ()
    return next((model for part in inner if (model := _model_in(part))), None)


def _as_json(value: Any) -> Any:
    if isinstance(value, WireObject):
        return value.to_json()
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value
