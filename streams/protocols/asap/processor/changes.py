"""What an envelope does to its task's state: a save, a merge patch, a delete.

Source: ASAP spec, 2.6, 4.5 and 5.4.
"""

from __future__ import annotations

from typing import Any

from schemas import canonical_json
from schemas.asap import Change
from streams.protocols.asap.processor import snapshots, verdicts
from streams.protocols.asap.processor.case import Case
from streams.protocols.asap.processor.snapshots import New
from streams.protocols.asap.processor.verdicts import Outcome


def conflict(change: Change | None, case: Case) -> Outcome | None:
    """Why the task's state mode does not know this change."""
    if change is None:
        return None
    if not case.event_sourced:
        used = ["patch"] if change.kind == "patch" else []
    else:
        named = ("version", "id", "created_at")
        used = ["delete"] if change.kind == "delete" else []
        used += [name for name in named if getattr(change, name) is not None]
    if not used:
        return None
    mode = case.row["state_mode"]
    detail = f"dev.headrace.snapshot: {used[0]} is not for a task whose state mode is {mode}."
    return verdicts.refuse("state_mode_conflict", detail, case=case, state_mode=mode, used=used)


def apply(change: Change | None, case: Case, envelope_id: str) -> dict[str, Any]:
    """Returns the figures of it."""
    if change is None:
        return {}
    if change.kind == "delete":
        return {"deleted": snapshots.delete(case, change.version)}
    case.checkpoint = change.checkpoint
    if change.kind == "patch":
        case.patch_json = canonical_json(change.data).decode()
        return {}
    new = New(change.data, change.checkpoint, change.version, change.id, change.created_at)
    version = snapshots.save(case, new)
    snapshots.draw_saved(case, version, envelope_id)
    return {}
