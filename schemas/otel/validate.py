"""Validation of spans, in the order of the guide's table (OTel guide, 3).

Edges, the processor and `verify` call the same check.  Unknown members pass at the edges, which
drop them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from schemas.canonical import has_lone_surrogate
from schemas.members import (
    MAX_ERRORS,
    Check,
    Member,
    Violation,
    choice_check,
    first_problems,
    is_text,
    not_an_object,
    problems_of,
    text_check,
)
from schemas.nesting import too_deep
from schemas.otel import rules
from schemas.problems import Problem

__all__ = ["MAX_ATTRIBUTES", "MAX_ERRORS", "MAX_VALUE_NESTING", "validate_span"]

MAX_ATTRIBUTES = 1024
"""Most attributes of a span, of its resource, of an event and of a link, each."""
MAX_VALUE_NESTING = 64
MAX_NANOSECONDS = 2**63 - 1
KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
STATUSES = ("UNSET", "OK", "ERROR")

_DIGITS = re.compile(r"[0-9]{1,19}")


def _id_check(rule: str, digits: int) -> Check:
    pattern = re.compile(f"[0-9a-f]{{{digits}}}")
    return text_check(
        rule,
        f"{digits} lower-case hexadecimal digits, not all 0",
        lambda text: pattern.fullmatch(text) is not None and text.strip("0") != "",
    )


def _is_object(value: Any) -> Violation:
    return None if isinstance(value, dict) else ("schema_invalid", "an object")


def _is_list_of_objects(value: Any) -> Violation:
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return None
    return "schema_invalid", "a list of objects"


def _count_check(bits: int) -> Check:
    """Make a check of a whole number of so many bits."""

    def check(value: Any) -> Violation:
        is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << bits
        return None if is_count else ("schema_invalid", f"a whole number of {bits} bits")

    return check


_is_count = _count_check(32)


_TIME = text_check(
    rules.TIME_INVALID.code,
    "decimal digits of at most 2^63 - 1",
    lambda text: _DIGITS.fullmatch(text) is not None and int(text) <= MAX_NANOSECONDS,
)
_REFUSED = choice_check("schema_invalid", (rules.TEXT_INVALID.code,))


def _optional(name: str, check: Check) -> Member:
    return Member(name, check, required=False, nullable=True)


_IDS = (
    Member("trace_id", _id_check(rules.TRACE_ID_INVALID.code, 32)),
    Member("span_id", _id_check(rules.SPAN_ID_INVALID.code, 16)),
    _optional("parent_span_id", _id_check(rules.PARENT_ID_INVALID.code, 16)),
)
_TIMES = (Member("start_time_unix_nano", _TIME), Member("end_time_unix_nano", _TIME))
_OTHERS = (
    Member("name", is_text),
    Member("kind", choice_check("schema_invalid", KINDS), required=False),
    Member("status", choice_check("schema_invalid", STATUSES), required=False),
    *(
        _optional(name, is_text)
        for name in (
            *("status_message", "service_name", "scope_name", "scope_version", "schema_url"),
            *("trace_state", "session_hint"),
        )
    ),
    Member("flags", _is_count, required=False),
    Member("attributes", _is_object, required=False),
    Member("resource", _is_object, required=False),
    Member("events", _is_list_of_objects, required=False),
    Member("links", _is_list_of_objects, required=False),
    Member("dropped", _is_object, required=False),
    Member("masked", _count_check(31), required=False),
    _optional("refused", _REFUSED),
)
_DROPPED = tuple(
    Member(name, _is_count, required=False) for name in ("attributes", "events", "links")
)


def validate_span(value: object) -> list[Problem]:
    """Return the problems of a span's JSON, in the guide's order, at most 16.

    The first one decides.
    """
    if not isinstance(value, dict):
        return [not_an_object("span")]
    return first_problems(_problems(value))


def _problems(span: dict[str, Any]) -> Iterator[Problem]:
    yield from problems_of(span, _IDS, ())
    times = list(problems_of(span, _TIMES, ()))
    yield from times or _time_problems(span)
    others = list(problems_of(span, _OTHERS, ()))
    yield from others
    if not others:
        yield from problems_of(span.get("dropped", {}), _DROPPED, ("dropped",))
        yield from _text_problems(span)
        yield from _attribute_problems(span)


def _time_problems(span: Mapping[str, Any]) -> Iterator[Problem]:
    start, end = int(span["start_time_unix_nano"]), int(span["end_time_unix_nano"])
    code = rules.TIME_INVALID.code
    if start == 0:
        yield Problem(code, "/start_time_unix_nano", "start_time_unix_nano must not be 0.")
    elif end < start:
        message = "end_time_unix_nano must not be before start_time_unix_nano."
        yield Problem(code, "/end_time_unix_nano", message)


def _text_problems(span: Mapping[str, Any]) -> Iterator[Problem]:
    code = rules.TEXT_INVALID.code
    if span.get("refused") is not None:
        yield Problem(code, "", "A text had a lone surrogate, and has U+FFFD in its place.")
    for name in ("attributes", "resource", "events", "links"):
        if has_lone_surrogate(span.get(name)):
            yield Problem(code, f"/{name}", f"{name} must have no lone surrogates.")


def _attribute_problems(span: Mapping[str, Any]) -> Iterator[Problem]:
    for path, attributes in _attribute_sets(span):
        if not isinstance(attributes, dict):
            yield Problem(rules.SCHEMA_INVALID.code, path, "attributes must be an object.")
        elif len(attributes) > MAX_ATTRIBUTES:
            message = f"There may be at most {MAX_ATTRIBUTES} attributes, not {len(attributes)}."
            yield Problem(rules.ATTRIBUTES_TOO_MANY.code, path, message)
        elif too_deep(attributes, limit=MAX_VALUE_NESTING + 1):
            message = f"A value must be nested no deeper than {MAX_VALUE_NESTING}."
            yield Problem(rules.NESTING_TOO_DEEP.code, path, message)


def _attribute_sets(span: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of the span, its resource, events and links, each with its path."""
    for name in ("attributes", "resource"):
        yield f"/{name}", span.get(name, {})
    for name in ("events", "links"):
        for index, each in enumerate(span.get(name, ())):
            yield f"/{name}/{index}/attributes", each.get("attributes", {})
