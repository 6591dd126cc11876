"""Checks of single members, for protocols that accept unknown members (SAOP guide, 3.1).

A table lists an object's members in the spec's order, each with its check.  Messages name the
member and what it must be, and never quote the value, because it may be a secret.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from schemas.canonical import canonical_json
from schemas.formats import MAX_ID, is_rfc_uuid, is_saop_time
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.problems import Problem, pointer

MAX_ERRORS = 16
"""Most problems of one value that are told."""

AGENTS = ("researcher", "architect", "developer", "reviewer")

Violation = tuple[str, str] | None
"""The rule that a value breaks and what it must be, or None."""
Check = Callable[[Any], Violation]
MemberPath = tuple[str, ...]


class Member(NamedTuple):
    """One member of an object.

    required: a missing member is a problem.  nullable: null is accepted.
    """

    name: str
    check: Check
    required: bool = True
    nullable: bool = False


def is_text(value: Any) -> Violation:
    if not isinstance(value, str):
        return "schema_invalid", "a string"
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "text_invalid", "text without lone surrogates"
    return None


def id_check(max_length: int) -> Check:
    """Make a check of a text that becomes a record key or a part of row keys; it may be empty."""
    return text_check(
        "schema_invalid",
        f"at most {max_length} characters long",
        lambda text: len(text) <= max_length,
    )


def text_check(rule: str, what: str, holds: Callable[[str], bool]) -> Check:
    """Make a check that requires a string for which `holds` is true."""

    def check(value: Any) -> Violation:
        return is_text(value) or (None if holds(value) else (rule, what))

    return check


def choice_check(rule: str, values: tuple[str, ...]) -> Check:
    return text_check(rule, "one of " + ", ".join(values), values.__contains__)


def is_flag(value: Any) -> Violation:
    return None if isinstance(value, bool) else ("schema_invalid", "a boolean")


def is_text_list(value: Any) -> Violation:
    """Check a list of strings."""
    if not isinstance(value, list):
        return "schema_invalid", "a list of strings"
    return next((wrong for each in value if (wrong := is_text(each))), None)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_turn_index(value: Any) -> Violation:
    if not is_number(value):
        return "schema_invalid", "a number"
    if not 0 <= value < 2**53 or value != int(value):
        return "turn_index_invalid", "an integer from 0 to 9007199254740991"
    return None


def number_checks(rule: str, what: str, holds: Callable[[float], bool]) -> tuple[Check, Check]:
    """Make two checks of a number: one for the value, and one for its JSON form.

    In the JSON form non-finite numbers are the strings NaN, Infinity and -Infinity.
    """

    def check(value: Any) -> Violation:
        if not is_number(value):
            return "schema_invalid", "a number"
        try:
            number = float(value)
        except OverflowError:
            return rule, what
        return None if number - number == 0 and holds(number) else (rule, what)

    def avro(value: Any) -> Violation:
        non_finite = isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity")
        return (rule, what) if non_finite else check(value)

    return check, avro


def is_open_object(value: Any) -> Violation:
    if not isinstance(value, dict):
        return "schema_invalid", "an object"
    if too_deep(value, limit=MAX_OPEN_NESTING):
        return "schema_invalid", f"nested no deeper than {MAX_OPEN_NESTING}"
    try:
        canonical_json(value)
    except ValueError:
        return is_text(json.dumps(value, ensure_ascii=False)) or (
            "schema_invalid",
            "I-JSON with finite numbers",
        )
    return None


is_id = id_check(MAX_ID)
AGENT = choice_check("agent_unknown", AGENTS)
TIME = text_check(
    "timestamp_invalid", "a UTC date-time, YYYY-MM-DDThh:mm[:ss[.fraction]]Z", is_saop_time
)


def uuid_check(rule: str) -> Check:
    return text_check(rule, "a UUID", is_rfc_uuid)


def problems_of(
    owner: dict[str, Any], members: tuple[Member, ...], path: MemberPath
) -> Iterator[Problem]:
    """Yield the problems of an object's members, in their order.

    path: the names that lead to the object.
    """
    for name, check, required, nullable in members:
        if name not in owner:
            if required:
                yield missing_member(name, path)
            continue
        value = owner[name]
        violation = None if nullable and value is None else check(value)
        if violation:
            yield Problem(violation[0], pointer(*path, name), f"{name} must be {violation[1]}.")


def missing_member(name: str, path: MemberPath) -> Problem:
    return Problem("schema_invalid", pointer(*path, name), f"{name} is missing.")


def not_an_object(name: str, path: MemberPath = ()) -> Problem:
    return Problem("schema_invalid", pointer(*path), f"The {name} must be an object.")


def first_problems(problems: Iterator[Problem]) -> list[Problem]:
    """Return the first `MAX_ERRORS` problems."""
    return [problem for _, problem in zip(range(MAX_ERRORS), problems, strict=False)]
