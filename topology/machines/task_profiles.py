"""The life of a task, as the transitions on `rtes.events` tell it.

Agents do not agree on the words for the states of a task.  So a vocabulary is data, a profile:
the states, the edges between them, and lists that say which states mean that a task is worked on,
has failed, is done, is paused, and where a rewind puts it.  A task keeps the profile that its
first transition gave it, for a story told in two vocabularies has no order.

There are three kinds.  `devs` knows its states and edges and checks both.  `open` takes any word
and checks only that a transition leaves the state in which the task stands.  Those named
after a protocol check nothing: that protocol's own machine has judged the transition already, or a
span says what has happened.

One edge of `devs` is guarded.  What was completed is only taken up again when the work beneath it
was turned back: the transition brings a commit with it, or the session was rewound since the task
last moved.  The guard is named here (`rewind_required`) and decided by the processor, which knows
the session.

Source: SAOP guide, 4.3.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources import files
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

_ASCII_UPPER = str.maketrans(ascii_lowercase, ascii_uppercase)


class Checks(StrEnum):
    """The extent to which a profile checks a transition."""

    EDGES = "edges"  # both names known, an edge between them, its guard true
    CONTINUITY = "continuity"  # it leaves the state in which the task stands
    NONE = "none"


class Guard(StrEnum):
    """A condition on an edge, decided by the processor."""

    REWIND_REQUIRED = "rewind_required"


class Transition(NamedTuple):
    source: str
    target: str
    guard: Guard | None


@dataclass(frozen=True, slots=True)
class Profile:
    """One vocabulary of task states.

    fold_case: names are compared without regard to ASCII case and kept in upper case.
    rewind_target, rewind_later: where a rewind puts the task it names, and those after it.
    pause_to, resume_to: where the service puts a task that it pauses, and one that is resumed.
    """

    name: str
    checks: Checks
    fold_case: bool
    states: tuple[str, ...] = ()
    edges: tuple[Transition, ...] = ()
    active: frozenset[str] = frozenset()
    failure: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    paused: frozenset[str] = frozenset()
    rewind_target: str | None = None
    rewind_later: str | None = None
    pause_to: str | None = None
    resume_to: str | None = None
    _edges: Mapping[tuple[str, str], Transition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = {(edge.source, edge.target): edge for edge in self.edges}
        object.__setattr__(self, "_edges", table)

    def normalise(self, name: str) -> str:
        """Return the spelling in which rows and records store a state's name."""
        return name.translate(_ASCII_UPPER) if self.fold_case else name

    def knows(self, state: str) -> bool:
        """Check whether the profile has a normalised state name; one without states has every
        name.
        """
        return not self.states or state in self.states

    def edge(self, source: str, target: str) -> Transition | None:
        """Return the edge between two normalised names; None if there is none or none are
        declared.
        """
        return self._edges.get((source, target))

    def is_edge(self, source: str, target: str) -> bool:
        """Return whether the profile allows a task the transition between two normalised names."""
        return self.checks is not Checks.EDGES or (source, target) in self._edges

    def guard(self, source: str, target: str) -> Guard | None:
        edge = self.edge(source, target)
        return edge.guard if edge else None

    def targets(self, source: str) -> list[str]:
        """Return the possible next states, those of guarded edges included, in declared order."""
        return [edge.target for edge in self.edges if edge.source == source]


def _only(values: list[str]) -> str | None:
    """Return the only state of a list that may have one at most; None for an empty list."""
    if len(values) > 1:
        raise ValueError(f"the service needs one state, not {values}")
    return values[0] if values else None


def parse(text: str) -> Profile:
    """Parse the TOML text of a profile; raise ValueError or KeyError if it is invalid."""
    data: dict[str, Any] = tomllib.loads(text)
    return Profile(
        name=data["name"],
        checks=Checks(data["checks"]),
        fold_case=data["fold_case"],
        states=tuple(data.get("states", ())),
        edges=tuple(
            Transition(edge["from"], edge["to"], Guard(edge["guard"]) if "guard" in edge else None)
            for edge in data.get("edges", ())
        ),
        active=frozenset(data.get("active", ())),
        failure=frozenset(data.get("failure", ())),
        done=frozenset(data.get("done", ())),
        paused=frozenset(data.get("paused", ())),
        rewind_target=_only(data.get("rewind_target", [])),
        rewind_later=_only(data.get("rewind_later", [])),
        pause_to=_only(data.get("pause_to", [])),
        resume_to=_only(data.get("resume_to", [])),
    )


_FOLDER = files(__package__) / "profiles"


def _load(name: str) -> Profile:
    return parse((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


DEVS = _load("devs")
OPEN = _load("open")
PROTOCOLS: Mapping[str, Profile] = {
    origin: _load(origin)
    for origin in sorted(each.name.removesuffix(".toml") for each in _FOLDER.iterdir())
    if origin not in (DEVS.name, OPEN.name)
}
"""By `origin`, the protocol whose processor reports the transition."""

PROFILES: Mapping[str, Profile] = {DEVS.name: DEVS, OPEN.name: OPEN, **PROTOCOLS}
"""Every profile by name."""
