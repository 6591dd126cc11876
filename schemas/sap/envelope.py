"""A record of a command topic: the JSON of an untrusted Avro value, its problems and its hash.

Source: SAP guide, 1, 2 and 2.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.canonical import MAX_SAFE_INTEGER, canonical_json, parse_ijson, sha256_hex
from schemas.objects import JsonObject
from schemas.problems import Problem, ShapeError, pointer
from schemas.sap import rules
from schemas.sap.check import UNPARSABLE, Path
from schemas.sap.models import envelope_shape
from schemas.sap.shapes import Kind, ListOf, Number, Numbers, Open, Shape
from schemas.sap.validate import problems_of

IDS = ("taskId", "parentTaskId", "correlationId", "signalId")
"""Members of envelopes that are UUIDs, and so are compared in lower case."""
_DEEPEST = 4


class Judged(NamedTuple):
    """An envelope and what is wrong with it.

    json: without nulls and without what could not be read; ids as sent.  problems: the one that
    decides first.  sha256: None for what has no canonical JSON.
    """

    json: JsonObject
    problems: list[Problem]
    sha256: str | None


def judge(kind: str, value: dict[str, Any], *, strict: bool = False) -> Judged:
    """Read and validate an Avro value, as sent by anyone.

    kind: `task`, `result` or `signal`.  strict: the evidence of a result has only the service's
    own words.
    """
    shape = envelope_shape(kind, strict=strict)
    raw = raw_json(shape, value)
    problems = problems_of(shape, raw.json, raw.problems)
    if not raw.problems:
        return Judged(raw.json, problems, _hash(raw.json))
    readable: JsonObject = _readable(raw.json, 0)
    return Judged(readable, problems, None)


def _hash(envelope: JsonObject) -> str | None:
    try:
        return envelope_hash(envelope)
    except ValueError:
        return None


def _readable(value: Any, depth: int) -> Any:
    """Remove open JSON that could not be read; it occurs in the upper objects only."""
    if isinstance(value, dict) and depth < _DEEPEST:
        return {
            name: _readable(item, depth + 1)
            for name, item in value.items()
            if item is not UNPARSABLE
        }
    return value


def envelope_hash(envelope: JsonObject) -> str:
    """Return the SHA-256 of the canonical JSON of an envelope without nulls, ids in lower case.

    Raises ValueError for what has no canonical JSON.
    """
    folded = {
        name: member.lower() if name in IDS and isinstance(member, str) else member
        for name, member in envelope.items()
    }
    return sha256_hex(canonical_json(folded))


def _plain(number: float) -> float:
    """Return a double without fraction as an integer."""
    return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number


class Raw(NamedTuple):
    """An envelope's JSON, as far as it could be read, with problems of its texts and extras."""

    json: JsonObject
    problems: list[Problem]


def raw_json(shape: Shape, value: JsonObject) -> Raw:
    """Return the JSON of an Avro value that has not been checked."""
    reader = _Reader()
    return Raw(reader.object(shape, value, ()), reader.problems)


class _Reader:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def object(self, shape: Shape, value: JsonObject, path: Path) -> JsonObject:
        result: JsonObject = {}
        for name, kind, _ in shape.members:
            opened = isinstance(kind, Open)
            member = value[f"{name}_json" if opened else name]
            if member is None:
                continue
            inner = (*path, name)
            read = self._open(member, inner) if opened else self._value(kind, member, inner)
            if read is not None:
                result[name] = read
        return self._extra(result, shape, value["extra_json"], (*path, "extra_json"))

    def _value(self, kind: Kind, value: Any, path: Path) -> Any:
        if isinstance(kind, Shape):
            return self.object(kind, value, path)
        if isinstance(kind, ListOf) and isinstance(kind.item, Shape):
            shape = kind.item
            return [self.object(shape, item, (*path, i)) for i, item in enumerate(value)]
        if isinstance(kind, Numbers):
            return {name: _plain(number) for name, number in value.items()}
        return _plain(value) if isinstance(kind, Number) else value

    def _open(self, text: str, path: Path) -> Any:
        try:
            return parse_ijson(text)
        except ShapeError as exc:
            message = exc.message.replace("The text", str(path[-1]), 1)
            self.problems.append(Problem(rules.BAD_JSON.code, pointer(*path), message))
            return UNPARSABLE

    def _extra(self, result: JsonObject, shape: Shape, text: str | None, path: Path) -> JsonObject:
        """Add the members in the extras behind those named."""
        extra = None if text is None else self._open(text, path)
        if text is None or extra is UNPARSABLE:
            return result
        named = {member.name for member in shape.members}
        if not isinstance(extra, dict):
            self._conflict(path, "must be an object")
        elif taken := sorted(named & set(extra)):
            self._conflict(path, f"must not name {', '.join(taken)}")
        else:
            result |= extra
        return result

    def _conflict(self, path: Path, what: str) -> None:
        message = f"extra_json {what}."
        self.problems.append(Problem(rules.EXTRA_CONFLICT.code, pointer(*path), message))
