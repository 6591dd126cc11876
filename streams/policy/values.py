"""The values of members: read from a file's form to the setting's, and written back.

Source: policies, 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from decimal import Context, Decimal, Inexact
from pathlib import Path
from typing import Any

from schemas import Problem
from streams.policy.members import Form, Member
from streams.protocols.saop.settings import TASK_PROFILES
from streams.protocols.summit.settings import CRITICS
from streams.settings.governance import PRINCIPALS
from streams.settings.tables import tables_of, tables_text
from streams.settings.values import words_of

MAX_DIGITS = 15
"""The significant digits that a number may have: each such number has one double, and back."""
MAX_PLACES = 18
_SHORT = Context(prec=MAX_DIGITS, traps=[Inexact])


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the name most like `name`."""
    return difflib.get_close_matches(name, list(names), n=1, cutoff=0.0)[0]


def read_value(member: Member, value: Any, folder: Path) -> Any:
    """Return the setting's value for a value of the file.  Raises PolicyProblem.

    folder: the one from which paths in the file start.
    """
    match member.form:
        case Form.WHOLE:
            return _whole(member, value)
        case Form.DECIMAL:
            return _decimal(member, value)
        case Form.FLAG:
            return value if type(value) is bool else _wrong_type(member, "true or false")
        case Form.WORD:
            return _word(value, member.declaration.choices, member.pointer)
        case Form.WORDS:
            return _words(member, value)
        case Form.FILE:
            return folder / value if type(value) is str and value else _wrong_type(member, "a path")
        case Form.PREFIXES:
            return _prefixes(member, value)
        case Form.TABLES:
            return _tables(member, value)
        case Form.PRINCIPALS:
            return _principals(member, value)
    return _critics(member, value)


def written_value(member: Member, value: Any) -> Any:
    """Return what the file says for a setting's value: a JSON value, exact decimals aside."""
    match member.form:
        case Form.PREFIXES:
            return dict(
                sorted(dict(reversed(_pairs(value))).items())
            )  # the first of a prefix counts
        case Form.CRITICS:
            named = dict(_pairs(value))  # the last of an agent counts
            return [{"agent": agent, "critic": named[agent]} for agent in sorted(named)]
        case Form.WORDS | Form.PRINCIPALS:
            return sorted(words_of(value))
        case Form.TABLES:
            return tables_of(value)
        case Form.FILE:
            return None if value is None else str(value)
    return value


class PolicyProblem(ValueError):
    """An error of one member, with rule, path and message."""

    def __init__(self, rule: str, path: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(rule, path, message)


def _wrong_type(member: Member, what: str) -> Any:
    raise PolicyProblem("member_type", member.pointer, f"{member.path} is {what}")


def _whole(member: Member, value: Any) -> int:
    if type(value) is not int:
        _wrong_type(member, "a whole number")
    _check_range(member, value)
    return int(value)


def _decimal(member: Member, value: Any) -> Decimal:
    if type(value) not in (int, Decimal):
        _wrong_type(member, "a number")
    if isinstance(value, Decimal) and not value.is_finite():
        _out_of_range(member)
    _check_range(member, value)
    number = Decimal(value)
    if not _is_short(number):
        message = f"{member.path} has at most {MAX_DIGITS} digits, {MAX_PLACES} after the point"
        raise PolicyProblem("number_precision", member.pointer, message)
    return number


def _is_short(number: Decimal) -> bool:
    """Return whether a number has no more digits than are exact."""
    try:
        exponent = _SHORT.normalize(number).as_tuple().exponent
    except Inexact:
        return False
    return int(exponent) >= -MAX_PLACES


def _check_range(member: Member, value: int | Decimal) -> None:
    if not member.declaration.low <= value <= member.declaration.high:
        _out_of_range(member)


def _out_of_range(member: Member) -> None:
    low, high = member.declaration.low, member.declaration.high
    raise PolicyProblem("number_range", member.pointer, f"{member.path} is {low} to {high}")


def _word(value: Any, words: Iterable[str], pointer: str) -> str:
    if type(value) is not str:
        raise PolicyProblem("member_type", pointer, f"is one of {', '.join(words)}")
    if value not in words:
        message = f"is one of {', '.join(words)}; the nearest is {nearest(value, words)}"
        raise PolicyProblem("value_unknown", pointer, message)
    return value


def _words(member: Member, value: Any) -> str:
    if not isinstance(value, list):
        _wrong_type(member, "a list of words")
    seen: set[str] = set()
    for index, item in enumerate(value):
        pointer = f"{member.pointer}/{index}"
        word = _word(item, member.declaration.choices, pointer)
        if word in seen:
            raise PolicyProblem("not_unique", pointer, f"{word} is in {member.path} already")
        seen.add(word)
    return ",".join(sorted(seen))


def _prefixes(member: Member, value: Any) -> str:
    if not isinstance(value, dict):
        _wrong_type(member, "a table")
    for prefix, profile in value.items():
        pointer = f"{member.pointer}/{_escaped(prefix)}"
        if "," in prefix:
            raise PolicyProblem("text_invalid", pointer, "a prefix has no comma")
        _word(profile, TASK_PROFILES, pointer)
    return ",".join(f"{prefix}={profile}" for prefix, profile in value.items())


def _tables(member: Member, value: Any) -> str:
    assert member.declaration.columns is not None
    for rule, pointer, message in member.declaration.columns.problems(value):
        name = ".".join(filter(None, (member.path, *pointer.split("/"))))
        raise PolicyProblem(rule, f"{member.pointer}{pointer}", f"{name} {message}")
    return tables_text(value)


def _principals(member: Member, value: Any) -> str:
    if not isinstance(value, list):
        _wrong_type(member, "a list of principals")
    if not value:
        message = f"{member.path} names nobody, so nobody could change the policy"
        raise PolicyProblem("governance_locked", member.pointer, message)
    for index, glob in enumerate(value):
        pointer = f"{member.pointer}/{index}"
        if type(glob) is not str:
            raise PolicyProblem("member_type", pointer, "is a text")
        if not PRINCIPALS.accepts(glob) or "," in glob:
            raise PolicyProblem("text_invalid", pointer, f"is one of {PRINCIPALS.name}")
        if glob in value[:index]:
            raise PolicyProblem("not_unique", pointer, f"{glob} is in {member.path} already")
    return ",".join(sorted(value))


def _critics(member: Member, value: Any) -> str:
    if not isinstance(value, list):
        _wrong_type(member, "a list of tables")
    entries: dict[str, str] = {}
    for index, entry in enumerate(value):
        pointer = f"{member.pointer}/{index}"
        if not isinstance(entry, dict) or entry.keys() != {"agent", "critic"}:
            raise PolicyProblem("member_type", pointer, "is a table with agent and critic")
        agent, critic = entry["agent"], entry["critic"]
        if not CRITICS.accepts(f"{agent}={critic}"):
            raise PolicyProblem("text_invalid", pointer, "agent and critic are names of agents")
        if agent in entries:
            raise PolicyProblem("not_unique", f"{pointer}/agent", f"{agent} has a critic already")
        entries[agent] = critic
    return ",".join(f"{agent}={critic}" for agent, critic in entries.items())


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the pairs of `name=value,…`; a name may contain `=`, as prefixes of ids do."""
    entries = (entry.rpartition("=") for entry in text.split(",") if entry)
    return [(name, value) for name, _, value in entries]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
