"""The saved states of one task as the spec tells them, written anew.

Source: ASAP guide, 4.4, 4.5 and 5.4.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from schemas.asap import derived_id
from tests.e2e.outputs import Json

SNAPSHOT = "dev.headrace.snapshot"


def ms_of(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)


def shown_time(at: str) -> str:
    """A time of a fact as envelopes and snapshots show it."""
    return at[:-5] + "Z" if at.endswith(".000Z") else at[:-1] + "000Z"


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def change_of(envelope: Json) -> Json | None:
    """What a worker says of the task's state, in the form of the snapshot extension."""
    state = envelope["payload"].get("final_state")
    if state is not None:
        data = state.get("data")
        return {"data": data if isinstance(data, dict) else state}
    change: Json | None = (envelope["extensions"] or {}).get(SNAPSHOT)
    return change


def snapshot_view(row: Json) -> Json:
    """A row of asap.snapshots as an agent sees it."""
    return {name: row[name] for name in row if name not in ("restored_from", "cause")}


class States:
    """rows: of asap.snapshots, by version.  after: the data after each event.  mark: the highest
    version that was ever given.  saved, deleted: versions, by the event at hand.
    """

    def __init__(self, task_id: str, created_at: str, *, sourced: bool) -> None:
        self.task_id = task_id
        self.sourced = sourced
        self.rows: dict[int, Json] = {}
        self.after: list[Json] = [{}]
        self.mark = 0
        self.saved: int | None = None
        self.deleted: list[int] = []
        self._expired = 0
        self._times = [created_at]
        self._marked: set[int] = set()
        self.go_on(created_at)

    @property
    def last(self) -> int:
        """The sequence of the event at hand."""
        return len(self.after) - 1

    @property
    def highest(self) -> int | None:
        return max(self.rows, default=None)

    def go_on(self, at: str) -> None:
        """To the next event, which changes nothing by itself."""
        self.after.append(self.after[-1])
        self._times.append(at)
        self.saved, self.deleted = None, []

    def conflicts(self, change: Json | None) -> bool:
        foreign = ("version", "id", "created_at", "delete") if self.sourced else ("patch",)
        return change is not None and any(name in change for name in foreign)

    def change(self, change: Json, fact: Json) -> None:
        """change: as in the snapshot extension."""
        if change.get("delete"):
            self._delete(change.get("version"))
        elif "data" in change:
            self.save(fact, **change)
        else:
            self.after[-1] = merged(self.after[-1], change["patch"])
        if change.get("checkpoint"):
            self._marked.add(self.last)

    def save(
        self,
        fact: Json,
        data: Json,
        checkpoint: bool = False,
        version: int | None = None,
        id: str | None = None,
        created_at: str | None = None,
        restored_from: int | None = None,
    ) -> Json:
        """Returns the row."""
        version = self.last if self.sourced else version or self.mark + 1
        made = derived_id(fact["cause"], 1, ms_of(fact["at"]))
        self.rows[version] = {
            "id": f"{self.task_id}@{version}" if self.sourced else id or made,
            "task_id": self.task_id,
            "version": version,
            "data": data,
            "checkpoint": checkpoint,
            "created_at": created_at or shown_time(fact["at"]),
            "restored_from": restored_from,
            "cause": fact["cause"],
        }
        self.after[-1] = data
        self.saved = version
        self.mark = max(self.mark, version)
        return self.rows[version]

    def _delete(self, version: int | None) -> None:
        gone = sorted(self.rows) if version is None else [version]
        self.deleted = [each for each in gone if self.rows.pop(each, None) is not None]

    def named(self, snapshot_id: str, last: int) -> Json | None:
        """The state that a StateRestore names.  last: the sequence before it."""
        if not self.sourced:
            known = (row for row in self.rows.values() if row["id"] == snapshot_id)
            return next((snapshot_view(row) for row in known), None)
        task_id, _, number = snapshot_id.rpartition("@")
        n = int(number) if number.isdecimal() else 0
        is_one = task_id == self.task_id and 1 <= n <= last and not self._lost(n)
        return self.at(n) if is_one else None

    def queried_state(self, version: int | None, last: int) -> Json | None:
        """The state that a StateQuery is answered with.  last: the sequence before it."""
        if self.sourced:
            n = last if version is None else version
            return self.at(n) if 0 <= n <= last and not self._lost(n) else None
        row = self.rows.get((self.highest or 0) if version is None else version)
        return None if row is None else snapshot_view(row)

    def expire(self, fact: Json) -> None:
        """The last state stays as a row; those without one can no longer be told."""
        self.saved = None
        if self.last not in self.rows:
            state = self.at(self.last)
            contents = (state["data"], state["checkpoint"])
            self.save(fact, *contents, created_at=state["created_at"])
        self._expired = self.last

    def _lost(self, n: int) -> bool:
        return 0 < n <= self._expired and n not in self.rows

    def at(self, n: int) -> Json:
        """Of an event-sourced task after its n-th event."""
        if n in self.rows:
            return snapshot_view(self.rows[n])
        return {
            "id": f"{self.task_id}@{n}",
            "task_id": self.task_id,
            "version": n,
            "data": self.after[n],
            "checkpoint": n in self._marked,
            "created_at": shown_time(self._times[n]),
        }
