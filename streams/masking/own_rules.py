"""The masking rules that a policy adds to the shipped ones.

A pattern runs in RE2, in time that grows with the text alone.  The whole match is replaced.  A text
without any of a rule's triggers is not searched, and tokens of an earlier masking are passed over.

Source: SAOP guide, 5.4; policies, 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from streams.masking.rules import ORDER, Rule, RuleKind
from streams.masking.tokens import PATTERN, TOKEN, token
from streams.settings.tables import Table, TableProblem, tables_of


class OwnRule(NamedTuple):
    """A rule of the policy.  pattern: compiled by RE2.

    tokens: finds tokens of the shipped rules, and of all rules of the policy.
    """

    rule: Rule
    pattern: Any
    tokens: re.Pattern[str] = TOKEN

    def is_suspect(self, text: str) -> bool:
        return any(trigger in text for trigger in self.rule.triggers)

    def matches(self, text: str) -> bool:
        """Return whether a text has a secret of this rule."""
        return self.is_suspect(text) and self.pattern.search(text) is not None


@lru_cache(maxsize=64)
def own_rules(text: str) -> tuple[OwnRule, ...]:
    """Return the rules of the setting; its tables are right."""
    tables = tables_of(text)
    names = "|".join(table["name"] for table in tables)
    tokens = re.compile(rf"{PATTERN}|\[REDACTED:(?:{names})(?::[0-9a-f]{{8}})?\]")
    return tuple(
        OwnRule(
            Rule(
                table["name"],
                RuleKind.PATTERN,
                "what the policy says",
                tuple(table["triggers"]),
                patterns=(table["pattern"],),
            ),
            _compile(table["pattern"]),
            tokens,
        )
        for table in tables
    )


def _compile(pattern: str) -> Any:
    re2: Any = import_module("re2")  # a C++ library, loaded only for patterns
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def mask_own(text: str, rules: Sequence[OwnRule], key: bytes | None) -> str:
    """Replace what the rules match in one line, each rule after the one before."""
    for each in rules:
        if each.is_suspect(text):
            text = "".join(_masked_parts(text, each, key))
    return text


def _masked_parts(text: str, policy_rule: OwnRule, key: bytes | None) -> Iterator[str]:
    done = 0
    for known in policy_rule.tokens.finditer(text):
        yield policy_rule.pattern.sub(
            lambda match: token(policy_rule.rule, match.group(), key), text[done : known.start()]
        )
        yield known.group()
        done = known.end()
    yield policy_rule.pattern.sub(
        lambda match: token(policy_rule.rule, match.group(), key), text[done:]
    )


def table_problems(tables: Sequence[Table]) -> Iterator[TableProblem]:
    """Yield what is wrong with rules whose tables are right: names, patterns, examples."""
    names: set[str] = set()
    for number, table in enumerate(tables):
        name = table["name"]
        if name in names or name in ORDER:
            yield "not_unique", f"/{number}/name", f"{name} is the name of another rule"
        names.add(name)
        try:
            pattern = _compile(table["pattern"])
        except Exception as exc:  # of the library
            yield "pattern_invalid", f"/{number}/pattern", f"is no pattern of RE2: {exc}"
            continue
        if pattern.search("") is not None:
            yield "pattern_invalid", f"/{number}/pattern", "matches the empty text"
            continue
        policy_rule = OwnRule(Rule(name, RuleKind.PATTERN, "", tuple(table["triggers"])), pattern)
        for member, expected in (("masked", True), ("kept", False)):
            for index, text in enumerate(table[member]):
                if policy_rule.matches(text) is not expected:
                    what = "is not masked" if expected else "is masked"
                    yield "example_failed", f"/{number}/{member}/{index}", f"this example {what}"
