"""The forms of an envelope: its JSON without nulls, its hash, and an untrusted Avro value's JSON.

Source: SAP spec, 2, clarifications 1, 5 and 6.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.canonical import MAX_SAFE_INTEGER, canonical_json, parse_ijson, sha256_hex
from schemas.problems import Problem, ShapeError, pointer
from schemas.sap import rules
from schemas.sap.check import UNREAD, Place
from schemas.sap.shapes import IDS, Kind, ListOf, Number, Numbers, Open, Shape

JsonObject = dict[str, Any]


def clean(shape: Shape, value: JsonObject) -> JsonObject:
    """The object without the named members that are null; open JSON keeps its nulls."""
    kinds = {member.name: member.kind for member in shape.members}
    return {
        name: _clean(kinds[name], member) if name in kinds else member
        for name, member in value.items()
        if member is not None or name not in kinds
    }


def _clean(kind: Kind, value: Any) -> Any:
    if isinstance(kind, Shape) and isinstance(value, dict):
        return clean(kind, value)
    if isinstance(kind, ListOf) and isinstance(kind.item, Shape) and isinstance(value, list):
        return [clean(kind.item, item) if isinstance(item, dict) else item for item in value]
    return value


def envelope_hash(envelope: JsonObject) -> str:
    """SHA-256 over the canonical JSON of an envelope without nulls, its ids in lower case.

    Raises ValueError for what has no canonical JSON.
    """
    folded = {
        name: member.lower() if name in IDS and isinstance(member, str) else member
        for name, member in envelope.items()
    }
    return sha256_hex(canonical_json(folded))


def _plain(number: float) -> float:
    """A double without fraction as an integer."""
    return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number


class Raw(NamedTuple):
    """json: as far as it could be read.  problems: of texts that hold no JSON, and of extras."""

    json: JsonObject
    problems: list[Problem]


def raw_json(shape: Shape, value: JsonObject) -> Raw:
    """The JSON of an Avro value that nobody has checked."""
    reader = _Reader()
    return Raw(reader.object(shape, value, ()), reader.problems)


class _Reader:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def object(self, shape: Shape, value: JsonObject, place: Place) -> JsonObject:
        result: JsonObject = {}
        for name, kind, _ in shape.members:
            opened = isinstance(kind, Open)
            member = value[f"{name}_json" if opened else name]
            if member is None:
                continue
            inner = (*place, name)
            read = self._open(member, inner) if opened else self._value(kind, member, inner)
            if read is not None:
                result[name] = read
        return self._extra(result, shape, value["extra_json"], (*place, "extra_json"))

    def _value(self, kind: Kind, value: Any, place: Place) -> Any:
        if isinstance(kind, Shape):
            return self.object(kind, value, place)
        if isinstance(kind, ListOf) and isinstance(kind.item, Shape):
            shape = kind.item
            return [self.object(shape, item, (*place, i)) for i, item in enumerate(value)]
        if isinstance(kind, Numbers):
            return {name: _plain(number) for name, number in value.items()}
        return _plain(value) if isinstance(kind, Number) else value

    def _open(self, text: str, place: Place) -> Any:
        try:
            return parse_ijson(text)
        except ShapeError as exc:
            message = exc.message.replace("The text", str(place[-1]), 1)
            self.problems.append(Problem(rules.BAD_JSON.code, pointer(*place), message))
            return UNREAD

    def _extra(
        self, result: JsonObject, shape: Shape, text: str | None, place: Place
    ) -> JsonObject:
        """The members named, then those in the extras."""
        extra = None if text is None else self._open(text, place)
        if text is None or extra is UNREAD:
            return result
        named = {member.name for member in shape.members}
        if not isinstance(extra, dict):
            self._conflict(place, "must be an object")
        elif taken := sorted(named & set(extra)):
            self._conflict(place, f"must not name {', '.join(taken)}")
        else:
            result |= extra
        return result

    def _conflict(self, place: Place, what: str) -> None:
        message = f"extra_json {what}."
        self.problems.append(Problem(rules.EXTRA_CONFLICT.code, pointer(*place), message))
