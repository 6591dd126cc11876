"""The extensions `dev.headrace.*`: who may use which, and their forms (ASAP guide, 2.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from schemas.asap.config import is_integer
from schemas.asap.constants import (
    EXT_ANSWERS,
    EXT_ERROR,
    EXT_PARTS,
    EXT_RESTORE,
    EXT_SNAPSHOT,
    RESERVED,
)
from schemas.asap.forms import iso_utc
from schemas.asap.parts import Part
from schemas.canonical import MAX_SAFE_INTEGER
from schemas.problems import pointer

JsonObject = dict[str, Any]
PathProblems = Iterator[tuple[str, str]]
"""Pairs of a JSON Pointer and what is wrong there."""

_PAYLOADS: dict[str, tuple[str, ...]] = {
    EXT_SNAPSHOT: ("TaskUpdate",),
    EXT_PARTS: ("MessageSend", "ArtifactNotify"),
    EXT_ERROR: (),
    EXT_RESTORE: (),
}
"""The payload types that an agent may use an extension with; all types for one not listed."""
_CHANGES = ("data", "patch", "delete")
_TIME = TypeAdapter(datetime)


def extension_problems(extensions: JsonObject, payload_type: str) -> PathProblems:
    """Yield the problems of the reserved extensions in an envelope from an agent."""
    for name, value in extensions.items():
        if not name.startswith(RESERVED):
            continue
        path = pointer("extensions", name)
        if name != EXT_ANSWERS and name not in _PAYLOADS:
            yield path, "is no extension that is known"
        elif payload_type not in _PAYLOADS.get(name, (payload_type,)):
            yield path, f"is not an agent's to use with {payload_type}"
        else:
            for inner, what in _FORMS[name](value):
                yield path + inner, what


def _answers(value: Any) -> PathProblems:
    if not isinstance(value, str):
        yield "", "must be a string"


def _parts(value: Any) -> PathProblems:
    if not isinstance(value, list):
        yield "", "must be a list"
        return
    for i, item in enumerate(value):
        if not isinstance(item, dict) or set(item) != {"id", "part"}:
            yield pointer(i), "must be an object of id and part"
            continue
        if not isinstance(item["id"], str):
            yield pointer(i, "id"), "must be a string"
        try:
            Part.validate_python(item["part"])
        except ValidationError:
            yield pointer(i, "part"), "must be a part"


def _snapshot(value: Any) -> PathProblems:
    """Check for exactly one of data, patch and delete, and each member by `_MEMBERS`."""
    if not isinstance(value, dict):
        yield "", "must be an object"
        return
    if len([name for name in _CHANGES if name in value]) != 1:
        yield "", f"must have one of {', '.join(_CHANGES)}"
    for name, member in value.items():
        if name not in _MEMBERS:
            yield pointer(name), "is no member of this object"
            continue
        what, holds = _MEMBERS[name]
        if not holds(member):
            yield pointer(name), f"must be {what}"
        if "delete" in value and name in ("id", "created_at"):
            yield pointer(name), "goes with data only"


def _is_time(value: Any) -> bool:
    """Return whether a value is a time whose UTC form has a year from 1 to 9999."""
    try:
        iso_utc(_TIME.validate_python(value))
    except (ValidationError, OverflowError):
        return False
    return True


_MEMBERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "data": ("an object", lambda value: isinstance(value, dict)),
    "patch": ("an object", lambda value: isinstance(value, dict)),
    "delete": ("true", lambda value: value is True),
    "checkpoint": ("true or false", lambda value: isinstance(value, bool)),
    "version": (
        f"an integer from 1 to {MAX_SAFE_INTEGER}",
        lambda value: is_integer(value) and 1 <= value <= MAX_SAFE_INTEGER,
    ),
    "id": ("a string", lambda value: isinstance(value, str)),
    "created_at": ("a date and time", _is_time),
}
_FORMS: dict[str, Callable[[Any], PathProblems]] = {
    EXT_ANSWERS: _answers,
    EXT_PARTS: _parts,
    EXT_SNAPSHOT: _snapshot,
}
