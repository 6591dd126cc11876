"""Which vocabulary a task's states are spelled in is fixed by its first transition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from streams.errors import SettingsError
from topology.machines.task_profiles import PROFILES, PROTOCOLS, Profile


@lru_cache(maxsize=64)
def by_prefix(text: str) -> tuple[tuple[str, Profile], ...]:
    """`prefix=profile,…` as pairs, the longest prefix first.  Raises SettingsError."""
    pairs = []
    for entry in filter(None, text.split(",")):
        prefix, equals, name = entry.rpartition("=")
        if not equals:
            raise SettingsError(f"HEADRACE_RTES_PROFILES is prefix=profile,…, not {entry!r}")
        pairs.append((prefix, named(name)))
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def named(name: str) -> Profile:
    """A profile that a setting may name.  Raises SettingsError."""
    if name not in PROFILES or name in PROTOCOLS:
        choices = ", ".join(name for name in PROFILES if name not in PROTOCOLS)
        raise SettingsError(f"a task profile is one of {choices}, not {name!r}")
    return PROFILES[name]


def profile_of(
    task_id: str, origin: str | None, row: Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> Profile:
    """The profile of a task: its row's, else the one that its first transition gives it."""
    return first_profile(task_id, origin, settings) if row is None else PROFILES[row["profile"]]


def first_profile(task_id: str, origin: str | None, settings: Mapping[str, Any]) -> Profile:
    """The origin's, else that of the longest prefix of the task id, else the default."""
    if origin is not None:
        return PROTOCOLS[origin]
    for prefix, profile in by_prefix(settings["RTES_PROFILES"]):
        if task_id.startswith(prefix):
            return profile
    return named(settings["RTES_PROFILE"])
