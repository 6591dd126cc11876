"""What pydantic found, as problems: rule, place, and one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, SupportsIndex, overload

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from schemas.asap import rules
from schemas.asap.errors import MalformedEnvelopeError
from schemas.problems import Problem, pointer

Kind = Literal["envelope", "payload", "manifest", "request"]
_RULES: dict[str, str] = {
    "envelope": rules.MALFORMED_ENVELOPE.code,
    "payload": rules.BAD_PAYLOAD.code,
    "manifest": rules.BAD_MANIFEST.code,
    "request": rules.MALFORMED_ENVELOPE.code,
}
_NAMED = frozenset(
    rule.code for rule in (rules.BAD_URN, rules.PAYLOAD_TYPE_MISMATCH, rules.MISSING_CORRELATION)
)
"""Types of our own errors that are rules of an envelope."""
_TEXTS: dict[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "is no member of this object",
    "string_type": "must be a string",
    "string_unicode": "must be text without lone surrogates",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_from_float": "must be an integer",
    "int_parsing_size": "must be an integer of a size that can be read",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
    "datetime_type": "must be a date and time",
    "datetime_parsing": "must be a date and time",
    "datetime_from_date_parsing": "must be a date and time",
    "datetime_object_invalid": "must be a date and time",
    "union_tag_not_found": "must be an object that says its type",
    "union_tag_invalid": "must be of a type that is known",
}
_BOUNDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "greater_than_equal": lambda bounds: f"must be at least {bounds['ge']}",
    "too_short": lambda bounds: f"must have at least {bounds['min_length']} items",
    "enum": lambda bounds: f"must be one of {bounds['expected']}",
    "literal_error": lambda bounds: f"must be {bounds['expected']}",
}
_OWN_SENTENCE = ("percent", "mime_type", "base64", "version")
_INSIDE = {"percent": ("percent",), "payload_type_mismatch": ("payload_type",)}
"""Where in the member that pydantic names the fault is."""


class Violation(Problem):
    """A problem whose members can be asked for by name as well: `violation["rule"]`."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, key: str) -> str: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> str | tuple[str, ...]:
        if isinstance(key, str):
            return str(self._asdict()[key])
        return super().__getitem__(key)


def validation_problems(exc: ValidationError, kind: Kind = "envelope") -> list[Problem]:
    """The problems of a model that did not validate.

    kind: what was validated; a payload's places begin at its envelope's root.
    """
    found = exc.errors(include_url=False, include_input=False)
    return [_problem(error, kind) for error in found]


def malformed(reason: str, problems: list[Problem]) -> MalformedEnvelopeError:
    """The error whose details hold the problems as {rule, path, message}."""
    told = [problem._asdict() for problem in problems]
    return MalformedEnvelopeError(reason, {"validation_errors": told})


def unknown_type(known: Iterable[str]) -> Problem:
    """Of a payload type that is none of the twelve."""
    what = f"payload_type must be one of {', '.join(known)}."
    return Violation(rules.UNKNOWN_PAYLOAD_TYPE.code, "/payload_type", what)


def _problem(error: ErrorDetails, kind: Kind) -> Problem:
    place = _place(error["loc"])
    if kind == "payload":
        place = ("payload", *place)
    place = (*place, *_INSIDE.get(error["type"], ()))
    named = kind == "envelope" and error["type"] in _NAMED
    rule = error["type"] if named else _RULES[kind]
    return Violation(rule, pointer(*place), sentence(error, place, kind))


def _place(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Without the names of branches: one follows each index into `parts`."""
    place: list[int | str] = []
    branch = False
    for i, step in enumerate(loc):
        if branch:
            branch = False
            continue
        if step == "[key]":
            return tuple(place[:-1])
        place.append(step)
        branch = isinstance(step, int) and i > 0 and loc[i - 1] == "parts"
    return tuple(place)


def _name(place: tuple[int | str, ...], kind: Kind) -> str:
    if not place:
        return f"The {kind}"
    return f"{place[-2]}[{place[-1]}]" if isinstance(place[-1], int) else place[-1]


def sentence(error: ErrorDetails, place: tuple[int | str, ...], kind: Kind) -> str:
    told = error["type"]
    if told in _OWN_SENTENCE:
        return f"{error['msg']}."
    if error["loc"][-1:] == ("[key]",):
        return f"{place[-1]} has a name that is no text."
    name = _name(place, kind)
    if told in _BOUNDS:
        return f"{name} {_BOUNDS[told](error['ctx'])}."
    return f"{name} {_TEXTS.get(told) or error['msg']}."
