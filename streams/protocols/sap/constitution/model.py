"""What is looked at, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Params = Mapping[str, Any]


class Finding(NamedTuple):
    """status: PASS, FAIL or UNCHECKED.  notes never hold the text that was found."""

    status: str
    notes: str


@dataclass(frozen=True, slots=True)
class Subject:
    """What the evaluators look at.

    value: the payload in phase `task`, else the output; None is no output.
    denylist: the terms of the constitution.
    """

    phase: str
    value: Any = None
    contract: Any = None
    citations: Sequence[Any] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    denylist: tuple[str, ...] = ()


class Evaluator(NamedTuple):
    """One way of checking.

    check: None where there is nothing to check in that phase.
    params: by name, what reads a value of a parameter, from the file or from a constraint's text;
      it raises ValueError.
    needs: parameters of which at least one must be given.
    others: what reads parameters of any other name, if there may be such.
    """

    check: Callable[[Subject, Params], Finding | None]
    params: Mapping[str, Callable[[Any], Any]] = {}
    needs: frozenset[str] = frozenset()
    others: Callable[[Any], Any] | None = None

    def reader(self, name: str) -> Callable[[Any], Any] | None:
        """What reads a parameter; None for a name that is none."""
        return self.params.get(name, self.others)

    def lacks(self, given: Set[str]) -> bool:
        """Whether none of those is given that must be."""
        if not self.needs:
            return False
        return not (given if self.others else self.needs & given)
