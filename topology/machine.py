"""State machines as tables, and the one interpreter that reads them.

A machine is a table of (state, event) → state.  The state `*` stands for every state that has no
edge of its own for the event, except the sealed ones, which nothing leaves.  An event without an
edge changes nothing; whether that is an error is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Generic, TypeVar

ANY = "*"

S = TypeVar("S", bound=str)


@dataclass(frozen=True, slots=True)
class Machine(Generic[S]):
    """One state machine, flat: edges are keyed by (state, event), or by (`*`, event).

    terminal: states in which the matter is closed; only `*` edges may still leave them.
    sealed: states that `*` does not stand for.
    """

    name: str
    initial: S
    states: tuple[S, ...]
    terminal: frozenset[S]
    edges: Mapping[tuple[str, str], S]
    sealed: frozenset[S] = frozenset()

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(event for _, event in self.edges))


def define(
    name: str,
    initial: S,
    table: Mapping[S, Mapping[str, S]],
    *,
    anywhere: Mapping[str, S] | None = None,
    sealed: frozenset[S] = frozenset(),
    ended: Set[S] = frozenset(),
) -> Machine[S]:
    """Make a machine of its table: a row per state, and `{}` as the row of a terminal state.

    anywhere: the edges of `*`.  ended: more terminal states, whose edges lead back to them.
    """
    edges: dict[tuple[str, str], S] = {
        (state, event): target for state, row in table.items() for event, target in row.items()
    }
    edges |= {(ANY, event): target for event, target in (anywhere or {}).items()}
    terminal = frozenset(state for state, row in table.items() if not row or state in ended)
    return Machine(name, initial, tuple(table), terminal, edges, sealed)


def step(machine: Machine[S], state: str, event: str) -> S | None:
    """Return the next state, or None if there is no edge, so that the state does not change."""
    target = machine.edges.get((state, event))
    if target is None and state not in machine.sealed:
        target = machine.edges.get((ANY, event))
    return target
