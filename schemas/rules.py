"""The declaration of a rule: its code, its meaning, its stage and where it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """The stage at which a rule is checked, or the kind of code it is."""

    SCHEMA = "shape"
    LOG = "log"
    POLICY = "policy"
    EFFECT = "effect"
    TIMER = "timer"
    WARNING = "warning"


class Where(StrEnum):
    """The component that applies a rule.  E: ingress, before producing.  P: the processor."""

    EDGE = "E"
    PROCESSOR = "P"
    BOTH = "E P"


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    meaning: str
    stage: Stage
    where: Where

    def __str__(self) -> str:
        return self.code


PARTITION_MISMATCH = Rule(
    "partition_mismatch",
    "the record lies on another partition than its key's",
    Stage.LOG,
    Where.PROCESSOR,
)
"""The rule of several protocols."""


def rules_of(namespace: dict[str, object]) -> tuple[Rule, ...]:
    """Return the rules declared in a module, in the order of declaration."""
    rules = tuple(item for item in namespace.values() if isinstance(item, Rule))
    if len({rule.code for rule in rules}) != len(rules):
        raise ValueError("a rule code is declared twice")
    return rules
