"""The journal of a rewind in progress, which survives a kill.

The file is in the work tree's own git directory.  Each step is on the disk before it begins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from streams.engine.durable_files import put_in_place, sync
from streams.ops.rewind.errors import GitFailed
from streams.ops.rewind.git import Head
from streams.ops.rewind.service import Target

NAME = "headrace-rewind.json"
FORMAT = 1


class Step(StrEnum):
    PREPARING = "preparing"
    CHECKING_OUT = "checking_out"
    CONFIRMING = "confirming"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One rewind.

    task_id, asked_hash: the requested target.  recorded_hash: its commit, as the service says.
    commit: the same in full, as git says.  original_branch: None if HEAD was detached.
    gateway: the service that knows the rewind.
    """

    rewind_id: str
    session_id: str
    task_id: str | None
    asked_hash: str | None
    original_commit: str
    original_branch: str | None
    gateway: str
    step: Step = Step.PREPARING
    recorded_hash: str | None = None
    commit: str | None = None

    @property
    def original(self) -> Head:
        return Head(self.original_commit, self.original_branch)

    @property
    def target(self) -> Target:
        return Target(self.task_id, self.asked_hash)


class Journal:
    """A journal file with at most one entry.  Raises GitFailed on disk errors."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME

    def read(self) -> JournalEntry | None:
        try:
            text = self.path.read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as exc:
            raise self._disk_error("read", exc) from exc
        try:
            return _parse_entry(json.loads(text))
        except (ValueError, TypeError, KeyError) as exc:
            raise self._disk_error("understood", exc) from exc

    def write(self, entry: JournalEntry) -> None:
        text = json.dumps({"format": FORMAT, **asdict(entry)}, indent=2)
        fresh = self.path.with_suffix(".new")
        try:
            fresh.write_text(text + "\n", encoding="ascii")
            put_in_place(fresh, self.path)
        except OSError as exc:
            raise self._disk_error("written", exc) from exc

    def delete(self) -> None:
        try:
            self.path.unlink(missing_ok=True)
            sync(self.path.parent)
        except OSError as exc:
            raise self._disk_error("deleted", exc) from exc

    def _disk_error(self, what: str, exc: Exception) -> GitFailed:
        advice = "It names the place to go back to; delete it once the work tree is as you want it."
        return GitFailed(f"the journal {self.path} cannot be {what}: {exc}", advice=advice)


def _parse_entry(value: Mapping[str, Any]) -> JournalEntry:
    members = dict(value)
    if members.pop("format") != FORMAT:
        raise ValueError("it is of another version")
    return JournalEntry(**{**members, "step": Step(members["step"])})
