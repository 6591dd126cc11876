"""The meanings of rule codes, of all protocols and of HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from streams.gateway.descriptions import ALL_HTTP_RULES
from streams.protocols.commands import COMMANDS

HTTP = "http"


class RuleMeaning(NamedTuple):
    """A rule.  protocol: `http` for those that only responses have.  stage: where it is checked."""

    code: str
    protocol: str
    stage: str
    where: str
    meaning: str


@cache
def rules_by_code() -> Mapping[str, tuple[RuleMeaning, ...]]:
    """Return all rules by code; several protocols may use one code."""
    by_code: dict[str, list[RuleMeaning]] = {}
    for side in COMMANDS:
        for rules in side.rules.values():
            for rule in rules:
                meaning = RuleMeaning(rule.code, side.name, rule.stage, rule.where, rule.meaning)
                by_code.setdefault(rule.code, []).append(meaning)
    for code in ALL_HTTP_RULES:
        meaning = RuleMeaning(code.code, HTTP, "edge", f"status {code.status}", code.meaning)
        by_code.setdefault(code.code, []).append(meaning)
    return {code: tuple(meanings) for code, meanings in by_code.items()}


def meaning_of(code: str | None, protocol: str | None) -> str | None:
    """Return what a rule means, first in this protocol."""
    meanings = rules_by_code().get(code or "", ())
    first = (each.meaning for each in meanings if each.protocol == protocol)
    return next(first, meanings[0].meaning if meanings else None)


def rule_text(code: str) -> str | None:
    """Return a rule as Markdown, None if there is no such rule."""
    meanings = rules_by_code().get(code)
    if meanings is None:
        return None
    lines = [f"# `{code}`", ""]
    for each in meanings:
        lines += [f"- **{each.protocol}**, checked at {each.stage} ({each.where}): {each.meaning}"]
    return "\n".join([*lines, ""])
