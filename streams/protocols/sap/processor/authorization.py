"""The authorisation of issuers for capabilities: the issuer table of an operator's TOML file.

A rule *knows* an issuer when its agent id and its kind both match.  If a rule knows the issuer and
matches the capability, the task is allowed.  If rules know the issuer, but only for other
capabilities: `forbidden`.  If no rule knows it: `unauthorized`.  An absent list is no restriction,
an empty one admits nobody.

Source: SAP guide, 5.2.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas import sha256_hex
from schemas.sap.constants import AGENT_KINDS
from streams.errors import SettingsError

_LABEL_DIGITS = 12
_ADVICE = "Correct the file, or unset HEADRACE_SAP_AUTHORIZATION."


@dataclass(frozen=True, slots=True)
class Allow:
    """One `[[allow]]` table.  agents, kinds: None is any."""

    capability: str
    agents: tuple[str, ...] | None
    kinds: tuple[str, ...] | None

    def knows(self, agent_id: str, kind: str) -> bool:
        if self.kinds is not None and kind not in self.kinds:
            return False
        return self.agents is None or any(glob(pattern, agent_id) for pattern in self.agents)


@dataclass(frozen=True, slots=True)
class Authorization:
    """An issuer table.  label: `<version>@<first 12 hex of the file's SHA-256>`."""

    label: str
    rules: tuple[Allow, ...]

    def refusal(self, agent_id: str, kind: str, capability: str) -> str | None:
        """Return the code of the rule that refuses this issuer, None if it is allowed."""
        known = [rule for rule in self.rules if rule.knows(agent_id, kind)]
        if any(glob(rule.capability, capability) for rule in known):
            return None
        return "forbidden" if known else "unauthorized"


_bound: dict[Path, Authorization] = {}


def glob(pattern: str, text: str) -> bool:
    """Return whether a text matches: `*` is any run, `?` one character, all else itself."""
    index = start = 0
    star, retry = -1, 0
    while start < len(text):
        if index < len(pattern) and pattern[index] == "*":
            star, retry = index, start
            index += 1
        elif index < len(pattern) and pattern[index] in ("?", text[start]):
            index, start = index + 1, start + 1
        elif star >= 0:
            retry += 1
            index, start = star + 1, retry
        else:
            return False
    return pattern[index:].strip("*") == ""


def parse(data: bytes) -> Authorization:
    """Parse an authorisation file.  Raises ValueError, which says what is wrong."""
    table = tomllib.loads(data.decode("utf-8"))
    _only(table, ("version", "allow"), "the file")
    version = table.get("version", "0")
    if isinstance(version, bool) or not isinstance(version, str | int):
        raise ValueError("version is a string")
    rules = table.get("allow", [])
    if not isinstance(rules, list):
        raise ValueError("allow is a list of tables, [[allow]]")
    label = f"{version}@{sha256_hex(data)[:_LABEL_DIGITS]}"
    return Authorization(label, tuple(_allow(rule) for rule in rules))


def _allow(rule: Any) -> Allow:
    if not isinstance(rule, Mapping):
        raise ValueError("allow is a list of tables, [[allow]]")
    _only(rule, ("capability", "agents", "kinds"), "[[allow]]")
    capability = rule.get("capability")
    if not isinstance(capability, str) or not capability:
        raise ValueError("[[allow]] needs a capability")
    if "agents" not in rule and "kinds" not in rule:
        raise ValueError("[[allow]] needs agents or kinds")
    kinds = _texts(rule, "kinds")
    unknown = sorted(set(kinds or ()) - set(AGENT_KINDS))
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no kind of issuer; they are {', '.join(AGENT_KINDS)}")
    return Allow(capability, _texts(rule, "agents"), kinds)


def _texts(rule: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    if name not in rule:
        return None
    values = rule[name]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is a list of strings")
    return tuple(values)


def _only(table: Mapping[str, Any], members: tuple[str, ...], what: str) -> None:
    unknown = sorted(set(table) - set(members))
    if unknown:
        raise ValueError(f"{what} has no member {unknown[0]!r}; known are {', '.join(members)}")


def load(path: Path) -> Authorization:
    """Load the file.  Raises SettingsError, which names the file and what is wrong with it."""
    try:
        return parse(path.read_bytes())
    except (OSError, ValueError, RecursionError) as exc:
        raise SettingsError(f"HEADRACE_SAP_AUTHORIZATION: {path}: {exc}", advice=_ADVICE) from exc


def bind(path: Path | None) -> Authorization | None:
    """Load the file that this process then uses for that path.

    A service does so at its start.  Raises SettingsError.
    """
    if path is None:
        return None
    _bound[path] = load(path)
    return _bound[path]


def authorization_of(work: Mapping[str, Any]) -> Authorization | None:
    """Return the issuer table of a processor's settings; None admits every issuer."""
    path: Path | None = work["SAP_AUTHORIZATION"]
    return None if path is None else _bound.get(path) or bind(path)
