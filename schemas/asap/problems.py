"""The translation of pydantic's errors to problems: rule, path and one sentence."""

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
_RULE_TYPES = frozenset(
    rule.code for rule in (rules.BAD_URN, rules.PAYLOAD_TYPE_MISMATCH, rules.MISSING_CORRELATION)
)
"""Types of pydantic's custom errors that are rule codes of an envelope."""
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
_COMPLETE_MESSAGES = ("percent", "mime_type", "base64", "version")
_SUBPATHS = {"percent": ("percent",), "payload_type_mismatch": ("payload_type",)}
"""The path of the problem below the member that pydantic reports."""


class Violation(Problem):
    """A problem whose members can also be read by name: `violation["rule"]`."""

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
    """Return the problems of a model that did not validate.

    kind: what was validated; the paths of a payload begin at its envelope's root.
    """
    errors = exc.errors(include_url=False, include_input=False)
    return [_problem(error, kind) for error in errors]


def malformed_error(reason: str, problems: list[Problem]) -> MalformedEnvelopeError:
    """Return an error whose details hold the problems as {rule, path, message}."""
    members = [problem._asdict() for problem in problems]
    return MalformedEnvelopeError(reason, {"validation_errors": members})


def unknown_type_problem(known: Iterable[str]) -> Problem:
    """Return the problem of a payload type that is none of the twelve."""
    what = f"payload_type must be one of {', '.join(known)}."
    return Violation(rules.UNKNOWN_PAYLOAD_TYPE.code, "/payload_type", what)


def _problem(error: ErrorDetails, kind: Kind) -> Problem:
    path = _path_without_branches(error["loc"], _is_about_a_name(error))
    if kind == "payload":
        path = ("payload", *path)
    path = (*path, *_SUBPATHS.get(error["type"], ()))
    named = kind == "envelope" and error["type"] in _RULE_TYPES
    rule = error["type"] if named else _RULES[kind]
    return Violation(rule, pointer(*path), problem_message(error, path, kind))


def _is_about_a_name(error: ErrorDetails) -> bool:
    """Return whether a name of an open object is wrong; a sent member may be called `[key]` too."""
    return error["type"] != "extra_forbidden" and error["loc"][-1:] == ("[key]",)


def _path_without_branches(loc: tuple[int | str, ...], is_name: bool) -> tuple[int | str, ...]:
    """Return the path without the names of union branches: one follows each index into `parts`.

    is_name: the last step says that the one before it is a wrong name.
    """
    path: list[int | str] = []
    branch = False
    for i, step in enumerate(loc):
        if branch:
            branch = False
            continue
        if is_name and i == len(loc) - 1:
            return tuple(path[:-1])
        path.append(step)
        branch = isinstance(step, int) and i > 0 and loc[i - 1] == "parts"
    return tuple(path)


def _name(path: tuple[int | str, ...], kind: Kind) -> str:
    if not path:
        return f"The {kind}"
    return f"{path[-2]}[{path[-1]}]" if isinstance(path[-1], int) else path[-1]


def problem_message(error: ErrorDetails, path: tuple[int | str, ...], kind: Kind) -> str:
    error_type = error["type"]
    if error_type in _COMPLETE_MESSAGES:
        return f"{error['msg']}."
    if _is_about_a_name(error):
        return f"{_name(path, kind)} has a name that is no text."
    name = _name(path, kind)
    if error_type in _BOUNDS:
        return f"{name} {_BOUNDS[error_type](error['ctx'])}."
    return f"{name} {_TEXTS.get(error_type) or error['msg']}."
