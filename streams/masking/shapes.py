"""The kind of a secret by its own shape, for texts that must hold none.

The masking rules that need a name beside the secret, or guess, do not count: honest texts speak of
passwords and hold long hashes.

Source: policies, 2; SAP guide, 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from streams.masking.find import spans_of
from streams.masking.own_rules import OwnRule, own_rules
from streams.masking.rules import ALL, ORDER
from streams.settings.values import words_of

NO_SHAPE = frozenset({"assignment", "authorization", "basic", "bearer", "high_entropy"})
"""The masking rules that need a name beside the secret, or guess."""
MAX_LEVELS = 8


class Shapes(NamedTuple):
    """The rules of a policy that count: disabled shipped ones, and those that it adds."""

    disabled: frozenset[int] = frozenset()
    policy_rules: tuple[OwnRule, ...] = ()


SHIPPED = Shapes()


def shapes_of(work: Mapping[str, Any]) -> Shapes:
    """Return the rules of the settings as processors see them."""
    return make_shapes(work["MASKING_DISABLED"], work["MASKING_RULE"])


@lru_cache(maxsize=8)
def make_shapes(disabled: str, policy_rules: str) -> Shapes:
    """Return the rules of the settings `masking.disabled` and `masking.rule`."""
    return Shapes(frozenset(ORDER[name] for name in words_of(disabled)), own_rules(policy_rules))


def secret_kind(text: str, levels: int = MAX_LEVELS, *, shapes: Shapes = SHIPPED) -> str | None:
    """Return the masking rule of the first secret in a text; None if there is none.

    levels: how often a value of a key is searched for keys of its own; what is deeper is a secret.
    """
    for line in text.splitlines():
        for each in shapes.policy_rules:
            if each.matches(line):
                return each.rule.name
        for span in spans_of(line, None, disabled=shapes.disabled):
            rule, secret = ALL[span.rule].name, line[span.start : span.end]
            if rule not in NO_SHAPE:
                return rule
            if secret == line:
                continue
            kind = secret_kind(secret, levels - 1, shapes=shapes) if levels else rule
            if kind is not None:  # a token as value of a key
                return kind
    return None
