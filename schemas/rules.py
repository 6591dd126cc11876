"""How a rule is declared: its code, what it means, at which stage and where it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """When a rule is looked at, or what its code stands for."""

    SCHEMA = "shape"
    LOG = "log"
    POLICY = "policy"
    EFFECT = "effect"
    TIMER = "timer"
    WARNING = "warning"


class Where(StrEnum):
    """E: at the edges, before anything is produced.  P: in the processor."""

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
    """The rules declared in a module, in the order of declaration."""
    found = tuple(item for item in namespace.values() if isinstance(item, Rule))
    if len({rule.code for rule in found}) != len(found):
        raise ValueError("a rule code is declared twice")
    return found
