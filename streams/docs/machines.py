"""The page on state machines."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from streams.docs.markdown import code, codes, fenced, grid
from topology.diagrams import mermaid, mermaid_profile
from topology.machine import ANY, Machine
from topology.machines import task_profiles
from topology.machines.task_profiles import Profile
from topology.state_machines import all_machines


def machines() -> Iterator[tuple[ModuleType, Machine[Any]]]:
    """Yield every machine declared in `topology.machines`, with its module."""
    return ((each.module, each.machine) for each in all_machines())


def _machine(module: ModuleType, machine: Machine[Any]) -> str:
    return f"\n## {machine.name}\n\n{inspect.getdoc(module)}\n\n{machine_tables(module, machine)}"


def machine_tables(module: ModuleType, machine: Machine[Any]) -> str:
    """Return the initial and terminal states, the diagram and the edges of a machine."""
    anywhere = "any state" + (f" but {codes(sorted(machine.sealed))}" if machine.sealed else "")
    rows = (
        (anywhere if state == ANY else code(state), code(event), code(target))
        for (state, event), target in machine.edges.items()
    )
    terminal = codes(state for state in machine.states if state in machine.terminal)
    return (
        f"Initial: `{machine.initial}`. Terminal: {terminal or 'none is'}.\n\n"
        f"{fenced('mermaid', mermaid(machine))}\n{grid(('from', 'event', 'to'), rows)}"
        f"{_no_moves(module)}"
    )


def _no_moves(module: ModuleType) -> str:
    """Return a table of events that cause no transition, if the module declares any."""
    rows = [
        (code(state), code(event), verdict, code(rule))
        for verdict, name in (("duplicate", "REPEATED"), ("rejected", "REFUSED"))
        for (state, event), rule in getattr(module, name, {}).items()
    ]
    return f"\n{grid(('in', 'event', 'verdict', 'rule'), rows)}" if rows else ""


def profile_table(profiles: Iterable[Profile]) -> str:
    lists = ("active", "failure", "done", "paused")
    rows = (
        (
            code(profile.name),
            profile.checks,
            "folded to upper case" if profile.fold_case else "as sent",
            *(codes(sorted(getattr(profile, name))) for name in lists),
            codes(filter(None, [profile.rewind_target])),
            codes(filter(None, [profile.rewind_later])),
        )
        for profile in profiles
    )
    header = ("profile", "checks", "names", *lists, "rewind target", "tasks after it")
    return grid(header, rows)


def _edges(profile: Profile) -> str:
    return f"\n### Edges of {profile.name}\n\n{profile_edges(profile)}"


def profile_edges(profile: Profile) -> str:
    """Return the diagram and the edges of a task profile."""
    rows = (
        (code(source), code(target), code(guard) if guard else "")
        for source, target, guard in profile.edges
    )
    return f"{fenced('mermaid', mermaid_profile(profile))}\n{grid(('from', 'to', 'guard'), rows)}"


def machines_page() -> str:
    essay, profiles = inspect.getdoc(task_profiles), list(task_profiles.PROFILES.values())
    return (
        "# State machines\n\n"
        "An event without a transition from the current state changes nothing.\n"
        + "".join(_machine(module, machine) for module, machine in machines())
        + f"\n## Task profiles\n\n{essay}\n\n{profile_table(profiles)}"
        + "".join(_edges(profile) for profile in profiles if profile.edges)
    )
