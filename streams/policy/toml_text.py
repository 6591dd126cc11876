"""The writer of policy files: the members of a policy as TOML, which the reader reads again.

A policy needs little of TOML: tables of plain values, a table of texts, and a list of tables.

Source: policies, 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from streams.policy.bundle import FORMAT, Policy, default_of, default_policy
from streams.policy.members import MEMBERS, Form, Member
from streams.policy.values import written_value
from streams.settings.composed import Settings


def policy_toml(settings: Settings, policy: Policy, shows_all: bool = False) -> str:
    """Return a policy file of these settings, named `bootstrap` and its version the policy id.

    policy: what they decide.  shows_all: also members that have their default.
    The files that members name are absolute paths, so that the policy may lie anywhere.
    """
    sections: dict[str, list[str]] = {}
    for member in MEMBERS.values():
        value = written_value(member, getattr(settings, member.field))
        if value is None or (not shows_all and value == default_of(member)):
            continue
        if member.form is Form.FILE:
            value = str(getattr(settings, member.field).absolute())
        section, _, name = member.path.rpartition(".")
        sections.setdefault(section, []).append(f"{name} = {_value(value)}")
    return "".join(f"{line}\n" for line in _lines("bootstrap", policy, sections))


def default_toml() -> str:
    """Return a policy file of all defaults, with the meaning of each member above it.

    A member without a default is a comment with no value.
    """
    sections: dict[str, list[str]] = {}
    for member in MEMBERS.values():
        value = default_of(member)
        section, _, name = member.path.rpartition(".")
        line = f"# {name} =" if value is None else f"{name} = {_value(value)}"
        sections.setdefault(section, []).extend((_meaning(member), line))
    return "".join(f"{line}\n" for line in _lines("default", default_policy(), sections))


def _meaning(member: Member) -> str:
    declaration = member.declaration
    match member.form:
        case Form.WHOLE | Form.DECIMAL:
            allowed = f"{declaration.low} to {declaration.high}"
        case Form.WORD:
            allowed = ", ".join(declaration.choices)
        case Form.WORDS:
            allowed = f"some of {', '.join(declaration.choices)}"
        case _:
            allowed = member.form.value
    return f"# {declaration.meaning}; {allowed}; {declaration.env}"


def _lines(name: str, policy: Policy, sections: Mapping[str, list[str]]) -> Iterator[str]:
    yield f"format = {FORMAT}"
    yield f"name = {_value(name)}"
    yield f"version = {_value(policy.id)}"
    for section in sorted(sections):
        yield from ("", f"[{section}]", *sections[section])


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | Decimal():
            return f"{value:f}" if isinstance(value, Decimal) else str(value)
        case str():
            return _text(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
    pairs = (f"{_text(name)} = {_value(inner)}" for name, inner in value.items())
    return f"{{ {', '.join(pairs)} }}" if value else "{}"


def _text(text: str) -> str:
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    """Return a character of a basic string; what is not printable is escaped, for terminals too."""
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
