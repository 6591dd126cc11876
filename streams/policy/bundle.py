"""A policy: what decides, its canonical form, and its digest.

The canonical form is the RFC 8785 object of `format` and of all members that differ from their
default.  So the same rules have one name, and a member that later software adds renames no policy.
A file that a member names stands there with its content and its label, not with its path.

Source: policies, 3.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from schemas import canonical_json, sha256_hex
from streams.errors import SettingsError
from streams.policy.members import MEMBERS, Form, Member
from streams.policy.values import written_value
from streams.settings.composed import Settings

FORMAT = 1
ID_DIGITS = 16
_LABEL_DIGITS = 12
_SHIPPED_CONSTITUTION = files("topology") / "sap" / "constitution.toml"


@dataclass(frozen=True)
class Policy:
    """The members that differ from their default, in `values` by dotted path.

    A number is an exact decimal or an int, and a file its tables with `label`.
    """

    values: Mapping[str, Any]

    @property
    def canonical(self) -> str:
        """Return the canonical form."""
        tree: dict[str, Any] = {"format": FORMAT}
        for path, value in self.values.items():
            *sections, name = path.split(".")
            table = tree
            for section in sections:
                table = table.setdefault(section, {})
            table[name] = as_json(value)
        return canonical_json(tree).decode()

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the canonical form, in lower-case hex."""
        return sha256_hex(self.canonical.encode())

    @property
    def id(self) -> str:
        """Return the policy id, the first 16 digits of the digest."""
        return self.digest[:ID_DIGITS]


@dataclass(frozen=True)
class PolicyFile:
    """A policy as a file has it, with its labels.  fields: the settings that it gives."""

    name: str
    version: str
    description: str | None
    fields: Mapping[str, Any]

    @property
    def policy(self) -> Policy:
        """Return what decides.  Raises SettingsError for a file that cannot be read."""
        return policy_of(Settings.without_environment(self.fields))


class Change(NamedTuple):
    """A member that two policies have with different values; None is its default.

    rules: the codes of the rules that it bears on.
    """

    path: str
    before: Any
    after: Any
    rules: tuple[str, ...]


def policy_of(settings: Settings) -> Policy:
    """Return what decides by these settings.

    Raises SettingsError for a constitution or an issuer table that cannot be read.
    """
    values: dict[str, Any] = {}
    for member in MEMBERS.values():
        value = getattr(settings, member.field)
        if member.form is Form.FILE:
            tables = file_tables(member, value)
            if tables is not None:
                values[member.path.removesuffix("_file")] = tables
        elif written_value(member, value) != default_of(member):
            values[member.path] = written_value(member, value)
    return Policy(values)


def default_policy() -> Policy:
    """Return the policy of all defaults."""
    return policy_of(Settings())


def diff(before: Policy, after: Policy) -> list[Change]:
    """Return the members that differ, by path."""
    paths = sorted(before.values.keys() | after.values.keys())
    changes = (Change(p, _in_force(before, p), _in_force(after, p), _rules(p)) for p in paths)
    return [change for change in changes if change.before != change.after]


def _rules(path: str) -> tuple[str, ...]:
    """Return the rules of a member; the tables of a file have those of the member that names it."""
    return (MEMBERS.get(path) or MEMBERS[f"{path}_file"]).declaration.rules


def _in_force(policy: Policy, path: str) -> Any:
    if path in policy.values or path not in MEMBERS:
        return policy.values.get(path)
    return default_of(MEMBERS[path])


def default_of(member: Member) -> Any:
    """Return a member's default as the file says it."""
    return written_value(member, member.declaration.default)


def file_tables(member: Member, path: Path | None) -> dict[str, Any] | None:
    """Return the tables of a member's file with its label; None for the default.

    Raises SettingsError for a file that cannot be read.
    """
    if path is None:
        return None
    try:
        content = path.read_bytes()
        tables = tomllib.loads(content.decode())
    except (OSError, ValueError, RecursionError) as exc:
        raise SettingsError(f"{member.declaration.env}: {path}: {exc}") from exc
    label = f"{tables.get('version', '0')}@{sha256_hex(content)[:_LABEL_DIGITS]}"
    if member.path == "sap.constitution_file":
        return None if content == _shipped_constitution() else {**tables, "label": label}
    return {**tables, "enabled": True, "label": label}


@cache
def _shipped_constitution() -> bytes:
    return _SHIPPED_CONSTITUTION.read_bytes()


def as_json(value: Any) -> Any:
    """Return a value with its exact decimals as the doubles that have the same digits."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [as_json(item) for item in value]
        case dict():
            return {name: as_json(inner) for name, inner in value.items()}
    return value
