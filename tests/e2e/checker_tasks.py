"""Rows of tasks and of sessions, told anew from what is recorded of them: `saop.tasks` over all
origins, and `rtes-sessions`.

Nothing of the service's own folds is asked.  Taken from the records as they stand, not told anew:
the profile of a task's first transition, and that what was recorded may be (`tests.history.paths`).
Not checked: the block of a private key in a session's row; a task of a session that is named as
another protocol's task is, so that both claim one row.  It is for runs that escalate the default
number of failures.

Source: SAOP guide, 2.3, 4.3 and 4.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from schemas import decode_many, to_json
from streams.engine.rows import store_key
from tests.e2e.findings import differences
from tests.e2e.history import Rows, Source, values_of
from tests.e2e.outputs import Json, latest
from topology.core import CHANGELOG
from topology.declarations import Table
from topology.keys import composite
from topology.saop import RTES_EVENTS, RTES_SESSIONS, SAOP_REWIND_LOG, SAOP_TASKS_TABLE

FAILURES = 5
"""With which a count is escalated."""
_COMMITS = 64
"""The latest, which a row keeps."""


class Lists(NamedTuple):
    """What the states of a profile mean."""

    active: frozenset[str] = frozenset()
    failure: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    paused: frozenset[str] = frozenset()


_DEVS = Lists(
    frozenset({"IN_PROGRESS"}),
    frozenset({"FAILED"}),
    frozenset({"COMPLETED", "SKIPPED"}),
    frozenset({"PAUSED"}),
)
_LISTS: Mapping[str, Lists] = {
    "devs": _DEVS,
    "open": _DEVS._replace(active=_DEVS.active | {"RUNNING"}, done=_DEVS.done | {"SUCCESS"}),
}
"""By profile; those of other protocols mean nothing."""


class Fold:
    """rows: of `saop.tasks`, by key.  reached: the events at which a count reached its limit, each
    with its task's row after it."""

    def __init__(self, events: Sequence[Json]) -> None:
        """events: of all sessions, those of each in order."""
        self.rows: Rows = {}
        self.reached: list[tuple[Json, Json]] = []
        for event in events:
            if event["payload"]["type"] == "TASK_TRANSITION":
                self._take(event)

    def _take(self, event: Json) -> None:
        task, origin = event["payload"]["task_id"], event["origin"]
        key = composite(event["session_id"], f"{origin}:{task}" if origin else task)
        before = self.rows.get(key) or _new(event)
        row = self.rows[key] = before | _moved(before, event) | _failed(before, event)
        if row["failures_escalated"] and not before["failures_escalated"]:
            self.reached.append((event, row))


def check(source: Source) -> list[str]:
    events = values_of(source, RTES_EVENTS)
    rows = Fold(events).rows
    sessions = _sessions(events, rows, values_of(source, SAOP_REWIND_LOG))
    session_rows = {key: _shown(row) for key, row in _rows(source, RTES_SESSIONS).items()}
    return [
        *differences("row of task", _rows(source, SAOP_TASKS_TABLE), rows),
        *differences("row of session", session_rows, sessions),
    ]


def _new(event: Json) -> Json:
    """Of a task, before its first transition."""
    return {
        "session_id": event["session_id"],
        "task_id": event["payload"]["task_id"],
        "origin": event["origin"],
        "profile": event["profile"],
        "state": event["payload"]["from_state"],
        "head_hash": None,
        "head_sequence": None,
        "commits": [],
        "transitions": 0,
        "failures": 0,
        "first_failure_sequence": None,
        "failures_escalated": False,
        "first_sequence": event["sequence"],
        "first_at": event["recorded_at"],
        "rewind_id": None,
        "pause": None,
    }


def _moved(row: Json, event: Json) -> Json:
    payload, sequence, at = event["payload"], event["sequence"], event["recorded_at"]
    changes = {
        "state": payload["to_state"],
        "previous_state": payload["from_state"],
        "transitions": row["transitions"] + 1,
        "last_sequence": sequence,
        "last_at": at,
    }
    git_hash = payload.get("git_hash")
    if event["rule"] == "rewind":
        changes["rewind_id"] = event["rewind_id"]
    if not git_hash:
        return changes
    if event["rule"] == "rewind":
        known = [one["sequence"] for one in row["commits"] if one["git_hash"] == git_hash]
        return changes | {
            "head_hash": git_hash,
            "head_sequence": [row["head_sequence"], *known][-1],
        }
    commit = {"git_hash": git_hash, "sequence": sequence, "to_state": payload["to_state"], "at": at}
    commits = [*row["commits"], commit][-_COMMITS:]
    return changes | {"head_hash": git_hash, "head_sequence": sequence, "commits": commits}


def _failed(row: Json, event: Json) -> Json:
    """Its count is cleared before the transition's own effect."""
    lists, state = _LISTS.get(row["profile"], Lists()), event["payload"]["to_state"]
    resumed = row["state"] in lists.paused and state not in lists.paused
    cleared = event["rule"] == "rewind" or state in lists.done or resumed
    count, first = row["failures"], row["first_failure_sequence"]
    is_escalated = row["failures_escalated"]
    if cleared:
        count, first, is_escalated = 0, None, False
    if state in lists.failure:
        count, first = count + 1, event["sequence"] if first is None else first
    return {
        "failures": count,
        "first_failure_sequence": first,
        "failures_escalated": is_escalated or count >= FAILURES,
    }


def _sessions(events: Sequence[Json], rows: Rows, facts: Sequence[Json]) -> Rows:
    """What `_shown` shows of the row of each session.  facts: of rewinds."""
    session_rows: Rows = {}
    for event in events:
        key = composite(event["session_id"])
        turned_back = event["sequence"] if event["rule"] == "rewind" else 0
        row = session_rows.setdefault(key, _fresh())
        row["last_sequence"], row["last_recorded_at"] = event["sequence"], event["recorded_at"]
        row["last_rewind"] = turned_back or row["last_rewind"]
    for task in rows.values():
        if task["origin"] is None:
            row = session_rows[composite(task["session_id"])]
            row["tasks"] += 1
            if task["state"] in _LISTS[task["profile"]].active:
                row["active_tasks"].add(task["task_id"])
    for session, rewind_id in _prepared(facts):
        session_rows[composite(session)]["prepared_rewind"] = rewind_id
    return session_rows


def _fresh() -> Json:
    return {"tasks": 0, "active_tasks": set(), "last_rewind": 0, "prepared_rewind": None}


def _shown(row: Json) -> Json:
    """In no order: that of tasks at work is the service's own."""
    members = {name: row[name] for name in (*_fresh(), "last_sequence", "last_recorded_at")}
    return members | {"active_tasks": set(row["active_tasks"])}


def _prepared(facts: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """Sessions, and the rewind that waits in each in the end."""
    waiting: dict[str, str] = {}
    for fact in facts:
        session, rewind_id = fact["session_id"], fact["rewind_id"]
        if fact["verdict"] != "accepted":
            continue
        if fact["state"] == "prepared":
            waiting[session] = rewind_id
        elif waiting.get(session, "").lower() == rewind_id.lower():
            del waiting[session]
    yield from waiting.items()


def _rows(source: Source, table: Table) -> Rows:
    live = latest(source.records(table.topic or CHANGELOG))
    prefix = b"" if table.topic else store_key(table.name, "")
    encoded = {key[len(prefix) :]: row for (_, key), row in live.items() if key.startswith(prefix)}
    rows = zip(encoded, decode_many(list(encoded.values()), table.record), strict=True)
    return {
        key.decode(): to_json(table.record, row.value)
        for key, row in rows
        if not isinstance(row, Exception)
    }
