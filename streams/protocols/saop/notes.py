"""Notes of an edge on valid turns, events and rewinds (SAOP guide, 6.8).

A transition with one name that its profile does not have is rejected by the processor, unless the
task began under the profile `open`; the edge knows no rows, so it says so beside the position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from schemas import Problem, rtes, saop
from schemas.rtes import rules
from streams.protocols.saop.rtes.transitions import first_profile
from streams.protocols.saop.settings import SaopSettings
from streams.settings.service import ServiceSettings
from topology.machines.task_profiles import Checks, Profile

MEMBER_DROPPED = "member_dropped"
_MAX_NAMED = 20


def notes_on_turn(value: Any, settings: ServiceSettings) -> list[Problem]:
    """Return a note for each unknown member of a turn."""
    return _dropped(value, saop.drop_unknown_turn)


def notes_on_rewind(value: Any, settings: ServiceSettings) -> list[Problem]:
    """Return a note for each unknown member of a rewind command."""
    return _dropped(value, saop.drop_unknown_rewind)


def notes_on_control(value: Any, settings: ServiceSettings) -> list[Problem]:
    """Return a note for each unknown member of a control."""
    return _dropped(value, saop.drop_unknown_control)


def notes_on_event(value: Any, settings: ServiceSettings) -> list[Problem]:
    """Return a note for each unknown member of an event, and one for an unknown state."""
    notes = _dropped(value, rtes.drop_unknown)
    payload = value["payload"]
    if payload["type"] == "TASK_TRANSITION":
        note = _unknown_state(payload, SaopSettings.of(settings))
        notes += [] if note is None else [note]
    return notes


def _dropped(value: Any, drop: Callable[[Any], tuple[Any, int]]) -> list[Problem]:
    clean, count = drop(value)
    if not count:
        return []
    paths = list(_missing_paths(value, clean, ""))
    notes = [
        Problem(MEMBER_DROPPED, path, "This member is unknown, and was left out.")
        for path in paths[:_MAX_NAMED]
    ]
    if len(paths) > _MAX_NAMED:
        message = f"{len(paths) - _MAX_NAMED} more members are unknown, and were left out."
        notes.append(Problem(MEMBER_DROPPED, "", message))
    return notes


def _missing_paths(value: Any, clean: Any, path: str) -> Iterator[str]:
    """Yield the paths of members of an object that its clean form has not."""
    for name, member in value.items():
        member_path = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if name not in clean:
            yield member_path
        elif isinstance(member, dict) and isinstance(clean[name], dict):
            yield from _missing_paths(member, clean[name], member_path)


def _unknown_state(payload: dict[str, Any], settings: SaopSettings) -> Problem | None:
    task_id = payload["task_id"]
    profile = first_profile(
        task_id,
        None,
        {"RTES_PROFILES": settings.rtes_profiles, "RTES_PROFILE": settings.rtes_profile},
    )
    unknown = [name for name in ("from_state", "to_state") if not _is_known(profile, payload[name])]
    if len(unknown) != 1:  # two unknown names begin a task under `open`
        return None
    (name,) = unknown
    message = (
        f"{payload[name]} is no state of the profile {profile.name}, so the record will be"
        f" rejected, unless task {task_id} began under the profile open. Known are"
        f" {', '.join(profile.states)}. For other names set"
        f" HEADRACE_RTES_PROFILES={_prefix_of(task_id)}=open where workers and gateways start."
    )
    return Problem(rules.UNKNOWN_STATE.code, f"/payload/{name}", message)


def _is_known(profile: Profile, name: str) -> bool:
    return profile.checks is not Checks.EDGES or profile.knows(profile.normalise(name))


def _prefix_of(task_id: str) -> str:
    """Return a prefix of a task id that a setting can hold: up to its first separator."""
    for at, character in enumerate(task_id):
        if character in "-/_:." and at:
            return task_id[: at + 1]
    return task_id
